// What pages quote by hand is in the code: log lines, what /readyz says, alerts, kinds of events.
import { eventKinds } from '@integration-sync/contracts';
import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { readRules } from '../../support/deploy-files.ts';
import { syntaxTrees } from '../../support/syntax-trees.ts';

/** Stands for what a template fills in. */
const filled = '\0';

/** The text that a literal, or literals that `+` joins, makes; undefined for any other expression. */
function textOf(node: object): string | undefined {
  if (!('type' in node)) return undefined;
  if (node.type === 'Literal' && 'value' in node)
    return typeof node.value === 'string' ? node.value : undefined;
  if (node.type === 'TemplateLiteral' && 'quasis' in node && Array.isArray(node.quasis))
    return node.quasis.map(({ value }: { value: { cooked: string } }) => value.cooked).join(filled);
  if (node.type !== 'BinaryExpression' || !('left' in node && 'right' in node)) return undefined;
  return `${textOf(Object(node.left)) ?? filled}${textOf(Object(node.right)) ?? filled}`;
}

function textsIn(node: unknown, found: string[] = []): string[] {
  if (typeof node !== 'object' || node === null) return found;
  const text = textOf(node);
  if (text !== undefined) found.push(text);
  for (const part of Object.values(node)) textsIn(part, found);
  return found;
}
const texts = syntaxTrees.flatMap((tree) => textsIn(tree)).map((text) => text.split(filled));

/** Of what is quoted, at least this share is in the code as it is, and a template fills in the rest. */
const literalShare = 0.5;

/** Whether the text of a template can begin with what is quoted. */
function canBegin([first = '', ...others]: readonly string[], quoted: string): boolean {
  if (!quoted.startsWith(first)) return first.startsWith(quoted);
  let rest = quoted.slice(first.length);
  let literal = first.length;
  for (const part of others) {
    const at = rest.indexOf(part);
    if (at === -1) {
      // The quote may end within this part of the template.
      while (!part.startsWith(rest)) rest = rest.slice(1);
      literal += rest.length;
      break;
    }
    rest = rest.slice(at + part.length);
    literal += part.length;
  }
  return others.length > 0 && literal >= quoted.length * literalShare;
}

const isInCode = (quoted: string): boolean =>
  texts.some((parts) => parts.some((part) => part.includes(quoted)) || canBegin(parts, quoted));

const page = async (name: string): Promise<string> =>
  (await readFile(`docs/${name}.md`, 'utf8')).replaceAll(/\n {2}(?=\S)/g, ' ');

/** What an entry quotes before its first colon, up to `…` or `*`, without the service that /readyz puts before it. */
const quotesOf = (heads: readonly string[]): string[] =>
  heads
    .flatMap((head) => Array.from(head.matchAll(/`([^`]+)`/g), ([, quoted = '']) => quoted))
    .flatMap((quoted) => quoted.replace(/^(?:nats|catalog|batches|webhooks): /, '').split(/ ?[…*]/))
    .filter((part) => part.includes(' '));

const between = (text: string, from: string, to: string): string => text.split(from)[1]?.split(to)[0] ?? '';

const headsOf = (text: string, head: RegExp): string[] =>
  Array.from(text.matchAll(head), ([, quoted = '']) => quoted);

it.each([
  ['log lines', 'monitoring', '## Log lines', '\n## ', /^- (`.+?`): [A-Z`]/gm, 15],
  ['messages', 'night', '# The night', '\n\n\n', /^- \*\*(.+?)\*\*/gm, 8],
  ['notes about streams', 'operating', '### Streams', 'Disk space', /^- (`.+?`): /gm, 5],
])('the %s that docs/%s.md quotes exist in the code', async (_what, name, from, to, head, atLeast) => {
  const quotes = quotesOf(headsOf(between(await page(name), from, to), head));
  expect(quotes.length).toBeGreaterThan(atLeast);
  expect(quotes.filter((quoted) => !isInCode(quoted))).toEqual([]);
});

it('the check of documents notices a quoted message that the code does not have', () => {
  expect(isInCode('MongoDB is gone for good.')).toBe(false);
});

it('the alerts that docs/night.md names exist', async () => {
  const heads = headsOf(await page('night'), /^- \*\*(.+?)\*\*/gm);
  const named = heads.flatMap((head) => headsOf(head, /_([^_`]+)_(?=$|,)/g));
  expect(named.length).toBeGreaterThan(3);
  const titles = (await readRules()).map(({ annotations }) => annotations['summary']);
  expect(titles).toEqual(expect.arrayContaining(named));
});

it('docs/events.md has each kind of event once in its table', async () => {
  const rows = headsOf(await page('events'), /^\| (`[a-z]+\.[a-z]+`[^|]*)\|/gm);
  const kinds = rows.flatMap((row) => headsOf(row, /`([^`]+)`/g));
  expect(kinds.toSorted()).toEqual(eventKinds.toSorted());
});
