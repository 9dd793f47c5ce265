// Reads XML as a stream of tags and texts, as far as workbooks use it. It ignores prefixes of names, and does not
// expand entities that a document declares.

export interface XmlEvents {
  /** `tag` is the text of the tag; `attributesOf` reads its attributes. */
  open(name: string, tag: string): void;
  close?(name: string): void;
  text?(text: string): void;
}

/** The longest tag. Tags of workbooks have some hundred characters. */
const tagCharactersMax = 8 * 1024;
/** The longest comment, section, or text between two tags. workbook.ts limits the text of a cell. */
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
      const isSection = text.startsWith('<!', tag) || text.startsWith('<?', tag);
      if (!isSection && (end < 0 ? text.length : end) - tag > tagCharactersMax)
        throw new Error('a tag of more than 8 KiB');
      if (end < 0) break;
      this.#take(text.slice(tag, end));
      at = end;
    }
    this.#rest = text.slice(at);
    if (this.#rest.length > textCharactersMax) throw new Error('a text of more than 1 MiB');
  }

  end(): void {
    if (this.#depth !== 0 || this.#rest.trim() !== '') throw new Error('it ends too soon');
  }

  #take(tag: string): void {
    if (tag.startsWith('<![CDATA[')) this.#on.text?.(tag.slice(9, -3));
    if (tag.startsWith('<!') || tag.startsWith('<?')) return;
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

const slash = 0x2f;
const colon = 0x3a;
const greater = 0x3e;
const doubleQuote = 0x22;
const singleQuote = 0x27;

/** The index after the tag that begins at `from`, or -1 if the tag goes on in the next chunk. */
function endOf(text: string, from: number): number {
  const section = sections.find(({ start }) => text.startsWith(start, from));
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

/** The look-behind makes it linear: without, a long name would be tried from each of its characters. */
const attribute = /(?<![\w.:-])(?:[\w.-]+:)?([\w.-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')/g;

export type Attributes = Readonly<Record<string, string | undefined>>;

export function attributesOf(tag: string): Attributes {
  const found: Record<string, string> = {};
  for (const [, name = '', double, single] of tag.matchAll(attribute))
    found[name] = decoded(double ?? single ?? '');
  return found;
}

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
