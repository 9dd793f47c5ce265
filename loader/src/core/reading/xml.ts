// Reads XML as a stream of tags and texts, as far as workbooks use it. It ignores prefixes of names, and does not
// expand entities that a document declares.

export interface XmlEvents {
  /** `tag` is the text of the tag; `attributesOf` reads its attributes. */
  open(name: string, tag: string): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** The limit on the length of a tag. Tags of workbooks have some hundred characters. */
const tagCharactersMax = 8 * 1024;
/**
 * The limit on the length of a comment, a section, or a text between two tags. workbook.ts has the limit on the text of a cell.
 */
const textCharactersMax = 1024 * 1024;

const sections = [
  { start: '<!--', end: '-->' },
  { start: '<![CDATA[', end: ']]>' },
  { start: '<?', end: '?>' },
] as const;

export class XmlScanner {
  readonly #on: XmlEvents;
  #rest = '';
  #depth = 0;

  constructor(on: XmlEvents) {
    this.#on = on;
  }

  push(chunk: string): void {
    const text = this.#rest + chunk;
    let at = 0;
    for (let tag = text.indexOf('<'); tag >= 0; tag = text.indexOf('<', at)) {
      if (tag > at) this.#on.text?.(decoded(text.slice(at, tag)));
      at = tag;
      const end = endOf(text, tag);
      if (!isSection(text, tag) && (end < 0 ? text.length : end) - tag > tagCharactersMax)
        throw new Error('an XML tag of more than 8 KiB');
      if (end < 0) break;
      this.#take(text.slice(tag, end));
      at = end;
    }
    this.#rest = text.slice(at);
    if (this.#rest.length > textCharactersMax) throw new Error('a text of more than 1 MiB');
  }

  end(): void {
    if (this.#depth !== 0 || this.#rest.trim() !== '') throw new Error('unexpected end');
  }

  #take(tag: string): void {
    if (isSection(tag, 0)) {
      if (tag.startsWith('<![CDATA[')) this.#on.text?.(tag.slice(9, -3));
      return;
    }
    const isClosing = tag.charCodeAt(1) === slash;
    const name = nameOf(tag, isClosing ? 2 : 1);
    if (!isClosing) {
      this.#depth += 1;
      this.#on.open(name, tag);
    }
    if (isClosing || tag.charCodeAt(tag.length - 2) === slash) {
      this.#depth -= 1;
      this.#on.close?.(name);
    }
  }
}

const exclamation = 0x21;
const question = 0x3f;
const slash = 0x2f;
const colon = 0x3a;
const greater = 0x3e;
const doubleQuote = 0x22;
const singleQuote = 0x27;

function isSection(text: string, tag: number): boolean {
  const character = text.charCodeAt(tag + 1);
  return character === exclamation || character === question;
}

/** The index after the tag that begins at `from`, or -1 if the tag goes on in the next chunk. */
function endOf(text: string, from: number): number {
  const section = isSection(text, from)
    ? sections.find(({ start }) => text.startsWith(start, from))
    : undefined;
  if (section !== undefined) {
    const end = text.indexOf(section.end, from + section.start.length);
    return end < 0 ? -1 : end + section.end.length;
  }
  let quote = 0;
  for (let at = from + 1; at < text.length; at += 1) {
    const character = text.charCodeAt(at);
    if (quote !== 0) quote = character === quote ? 0 : quote;
    else if (character === greater) return at + 1;
    else if (character === doubleQuote || character === singleQuote) quote = character;
  }
  return -1;
}

function nameOf(tag: string, from: number): string {
  let start = from;
  for (let at = from; ; at += 1) {
    const character = tag.charCodeAt(at);
    if (character === colon) start = at + 1;
    else if (character <= 0x20 || character === slash || character === greater) return tag.slice(start, at);
  }
}

export type Attributes = Readonly<Record<string, string | undefined>>;

/**
 * Reads the attributes of a tag by their names without prefixes. It uses no regular expression, which takes three times as long:
 * each cell has a tag.
 */
export function attributesOf(tag: string): Attributes {
  const found: Record<string, string> = {};
  let at = 0;
  for (let sign = tag.indexOf('='); sign >= 0; sign = tag.indexOf('=', at)) {
    let from = sign + 1;
    while (isBlank(tag.charCodeAt(from))) from += 1;
    const quote = tag.charCodeAt(from);
    const isQuoted = quote === doubleQuote || quote === singleQuote;
    const to = isQuoted ? tag.indexOf(quote === doubleQuote ? '"' : "'", from + 1) : sign;
    if (to < 0) break;
    if (isQuoted) found[nameBefore(tag, sign, at)] = decoded(tag.slice(from + 1, to));
    at = to + 1;
  }
  return found;
}

function nameBefore(tag: string, sign: number, earliest: number): string {
  let end = sign;
  while (end > earliest && isBlank(tag.charCodeAt(end - 1))) end -= 1;
  let start = end;
  while (start > earliest && isOfName(tag.charCodeAt(start - 1))) start -= 1;
  return tag.slice(start, end);
}

const isBlank = (character: number): boolean => character === 0x20 || (character >= 9 && character <= 13);

/** Whether a character belongs to a name: it is neither a blank nor the colon after a prefix. */
const isOfName = (character: number): boolean => !isBlank(character) && character !== colon;

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes entities, and makes each line end a line feed. */
const decoded = (text: string): string =>
  text.includes('&') || text.includes('\r')
    ? text.replaceAll(
        /\r\n?|&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi,
        (whole, decimal?: string, hex?: string, name = '') => {
          if (whole.startsWith('\r')) return '\n';
          const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
          return code <= 0x10_ffff ? String.fromCodePoint(code) : (entities[name] ?? whole);
        },
      )
    : text;
