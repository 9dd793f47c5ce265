// Finds the format of a file by its first bytes, not by its name: some systems write HTML pages as .xls, and people rename files.
import { platform } from '#platform';
import { Stop } from '../exit.ts';
import type { Format } from './source.ts';

type Content = 'workbook' | 'ods' | 'zip' | 'compound' | 'gzip' | 'html' | 'xml' | 'pdf' | 'text';

const bytesMax = 4_096;
const saveAs = 'save it as .xlsx or as CSV';

const saidOf: Readonly<Record<Content, (file: string) => string>> = {
  workbook: (file) => `${file} is an Excel workbook by its content: name it .xlsx.`,
  ods: (file) => `${file} is an OpenDocument spreadsheet (.ods): ${saveAs}.`,
  zip: (file) => `${file} is a zip archive: unpack it, and name the files in it.`,
  compound: (file) =>
    `${file} is a workbook of Excel 97 (.xls), or has a password: ${saveAs}, without a password.`,
  gzip: (file) => `${file} is packed by gzip: unpack it.`,
  html: (file) =>
    `${file} is a page of HTML, as some systems write for Excel: open it in Excel, and ${saveAs}.`,
  xml: (file) => `${file} is XML, as some systems write for Excel: open it in Excel, and ${saveAs}.`,
  pdf: (file) => `${file} is a PDF, which has no rows: export the table as CSV.`,
  text: (file) => `${file} is text by its content: name it .csv or .txt.`,
};

/** Throws a `Stop` that names the format of the file, if the file name says another format. */
export async function refuseForeign(file: string, format: Format | undefined): Promise<void> {
  const content = await contentOf(file);
  if (!isFitting(content, file, format)) throw new Stop(saidOf[content](file));
}

function isFitting(content: Content, file: string, format: Format | undefined): boolean {
  // If the name says no format, text is not refused here: the caller refuses the file with a better message.
  if (format === undefined) return content === 'text' && !/\.xls$/i.test(file);
  if (format === 'xlsx') return content !== 'ods' && content !== 'gzip';
  return content === 'text' || (content === 'gzip' && /\.gz$/i.test(file));
}

async function contentOf(file: string): Promise<Content> {
  await using handle = await platform.open(file);
  const start = await handle.read(0, bytesMax);
  const text = platform.latin1(start);
  if (text.startsWith('PK\u0003\u0004')) return packedContent(text);
  if (text.startsWith('\u00d0\u00cf\u0011\u00e0\u00a1\u00b1\u001a\u00e1')) return 'compound';
  if (text.startsWith('\u001f\u008b')) return 'gzip';
  if (text.startsWith('%PDF-')) return 'pdf';
  const words = text.replace(/^\u00ef\u00bb\u00bf/, '').trimStart();
  if (/^<(?:!doctype html|html|table|head|meta|body|style|div)\b/i.test(words)) return 'html';
  return /^<(?:\?xml|workbook)\b/i.test(words) ? 'xml' : 'text';
}

function packedContent(text: string): Content {
  if (text.includes('mimetypeapplication/vnd.oasis.opendocument')) return 'ods';
  return /\[Content_Types\]\.xml|_rels\/\.rels|xl[/\\]/.test(text) ? 'workbook' : 'zip';
}
