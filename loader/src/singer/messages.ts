// The messages of Singer (hub.meltano.com/singer/spec), one JSON object a line.
import { Stop } from '../core/exit.ts';

export type Message =
  | { type: 'SCHEMA'; stream: string; schema: { properties?: Record<string, unknown> } }
  | { type: 'RECORD'; stream: string; record: Record<string, unknown>; version?: number }
  /** The value of a STATE as the tap wrote it: large numbers in it would not survive `JSON.parse`. */
  | { type: 'STATE'; value: string }
  | { type: 'ACTIVATE_VERSION'; stream: string; version: number }
  /** A message of a later version of the specification, which a target ignores. */
  | { type: 'other' };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function parseMessage(line: string, number: number): Message {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    throw wrong(number, 'it is no JSON', line);
  }
  if (!isObject(message)) throw wrong(number, 'it is no JSON object', line);
  const { type, stream, schema, record, version, value } = message;
  if (type === 'STATE') {
    if (value === undefined) throw wrong(number, 'it has no value', line);
    return { type, value: valueIn(line) };
  }
  if (type === 'BATCH')
    throw wrong(number, 'BATCH messages are not taken: switch batches off in the tap', line);
  if (type !== 'SCHEMA' && type !== 'RECORD' && type !== 'ACTIVATE_VERSION') return { type: 'other' };
  if (typeof stream !== 'string') throw wrong(number, 'it has no stream', line);
  if (type === 'SCHEMA') {
    if (!isObject(schema)) throw wrong(number, 'it has no schema', line);
    return {
      type,
      stream,
      schema: isObject(schema['properties']) ? { properties: schema['properties'] } : {},
    };
  }
  if (type === 'ACTIVATE_VERSION') return { type, stream, version: Number(version) };
  if (!isObject(record)) throw wrong(number, 'it has no record', line);
  return { type, stream, record, ...(typeof version === 'number' ? { version } : {}) };
}

/** The text of the property `value` of a line that is a JSON object. */
function valueIn(line: string): string {
  let depth = 0;
  let name = '';
  let from = 0;
  let text = '';
  for (let at = 0; at < line.length; at += 1) {
    const character = line[at];
    if (character === '"') {
      const begin = at + 1;
      for (at = begin; line[at] !== '"'; at += 1) if (line[at] === '\\') at += 1;
      name = line.slice(begin, at);
    } else if (character === '{' || character === '[') depth += 1;
    else if (depth === 1 && character === ':') from = name === 'value' ? at + 1 : 0;
    else if (depth === 1 && (character === ',' || character === '}')) {
      if (from > 0) text = line.slice(from, at).trim();
      from = 0;
    } else if (character === '}' || character === ']') depth -= 1;
  }
  return text;
}

const wrong = (number: number, what: string, line: string): Stop =>
  new Stop(`Message ${number}: ${what}: ${line.slice(0, 80)}`);
