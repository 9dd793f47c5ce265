// Reads the file of clients up to a bound, checks its content, and words the refusal of a wrong file.
//
//   [{ "id": "erp", "integration": "acme", "scope": "integration:suppliers:write …",
//      "secrets": [{ "name": "k3JvP0aQ", "sha256": "…", "expiresAt": "2027-01-31T00:00:00Z" }, "sha256:…"] }]
//
// A refusal names the position, the field, the expected value and the value that came. A refusal never shows a hash, or
// a text that may be a secret.
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { allScopes, integrationPattern, parseInstant, type Scope } from '@integration-sync/contracts';
import { fileReasons } from '@integration-sync/runtime/config';
import { secretName, secretPrefix } from './secret.ts';

export interface Client {
  id: string;
  integration: string;
  scopes: readonly Scope[];
  secrets: readonly StoredSecret[];
}

export interface StoredSecret {
  /** The 8 characters that name the secret; undefined if the file has only its hash. */
  name: string | undefined;
  /** The hash of the secret, in lower-case hex. */
  sha256: string;
  /** The end of the secret in epoch milliseconds; Infinity for a secret without an end. */
  endsAtMs: number;
}

/** The error that says why the file of clients is refused, in words for the operator. */
export class ClientsRefused extends Error {
  override readonly name = 'ClientsRefused';
}

const clientId = /^[!-~]{1,64}$/;
const integrationId = new RegExp(integrationPattern);
const sha256 = /^[0-9a-f]{64}$/i;

export function parseClients(bytes: Uint8Array): Client[] {
  const list = parseText(bytes);
  if (!Array.isArray(list)) throw refused('the file', 'an array of clients', list);
  const clients = list.map((value: unknown, index) => readClient(value, `client ${index + 1}`));
  refuseDoubled(clients);
  return clients;
}

function parseText(bytes: Uint8Array): unknown {
  if (!isUtf8(bytes)) throw new ClientsRefused('the file is not UTF-8');
  const text = Buffer.from(bytes)
    .toString()
    .replace(/^\uFEFF/, '');
  try {
    return JSON.parse(text);
  } catch (error) {
    // The message of the JSON parser quotes the file, which has hashes of secrets. So only the position in the message is used.
    const [position = ''] =
      /\(line \d+ column \d+\)$/.exec(error instanceof Error ? error.message : '') ?? [];
    throw new ClientsRefused(`the file is not JSON, or ends too early ${position}`.trimEnd());
  }
}

function readClient(value: unknown, where: string): Client {
  const fields = readFields(value, where, ['id', 'integration', 'scope', 'secrets']);
  const { id, integration, scope, secrets } = fields;
  if (!isText(id, clientId)) {
    throw refused(`${where}, id`, '1 to 64 printable characters of ASCII without a space', id);
  }
  const who = `${where} (${shown(id)})`;
  if (!isText(integration, integrationId)) {
    throw refused(`${who}, integration`, '1 to 64 letters, digits, _ or -', integration);
  }
  if (!Array.isArray(secrets)) throw refused(`${who}, secrets`, 'an array', secrets);
  return {
    id,
    integration,
    scopes: readScopes(scope, `${who}, scope`),
    secrets: secrets.map((secret: unknown, index) => readSecret(secret, `${who}, secret ${index + 1}`)),
  };
}

function readScopes(value: unknown, where: string): Scope[] {
  const words = typeof value === 'string' ? value.split(' ').filter((word) => word !== '') : value;
  if (!Array.isArray(words) || words.length === 0) {
    throw refused(where, 'scopes, separated by spaces', value);
  }
  const scopes = words.map((word: unknown) => {
    const scope = allScopes.find((one) => one === word);
    if (scope === undefined) throw refused(where, `scopes of ${allScopes.join(', ')}`, word);
    return scope;
  });
  return [...new Set(scopes)];
}

function readSecret(value: unknown, where: string): StoredSecret {
  const expected = '"sha256:" and 64 hex digits, or an object with sha256';
  if (typeof value === 'string') {
    const digits = value.replace(/^sha256:/, '');
    if (digits === value || !sha256.test(digits)) throw refusedUnseen(where, expected, value);
    return { name: undefined, sha256: digits.toLowerCase(), endsAtMs: Infinity };
  }
  if (typeof value !== 'object' || value === null) throw refusedUnseen(where, expected, value);
  const { name, sha256: digits, expiresAt } = readFields(value, where, ['name', 'sha256', 'expiresAt']);
  if (name !== undefined && !isText(name, secretName)) {
    throw refusedUnseen(`${where}, name`, 'the 8 letters and digits behind isk_', name);
  }
  if (!isText(digits, sha256)) throw refusedUnseen(`${where}, sha256`, '64 hex digits', digits);
  const endsAtMs = expiresAt === undefined ? Infinity : readInstant(expiresAt);
  if (endsAtMs === undefined) {
    throw refused(`${where}, expiresAt`, 'a time such as "2027-01-31T00:00:00Z"', expiresAt);
  }
  return { name, sha256: digits.toLowerCase(), endsAtMs };
}

/** Reads a time as epoch milliseconds. Undefined for a text that is no time, such as 30 February, or a day without a time. */
export const readInstant = (value: unknown): number | undefined =>
  isText(value, /t/i) ? parseInstant(value)?.getTime() : undefined;

function readFields(value: unknown, where: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refused(where, `an object with ${known.join(', ')}`, value);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw refused(where, `the keys ${known.join(', ')}`, key);
  }
  return { ...value };
}

/** Refuses a client id or a secret that occurs twice, because it would be undefined which entry applies. */
function refuseDoubled(clients: readonly Client[]): void {
  const ids = new Map<string, number>();
  const secretsBefore = new Map<string | undefined, string>();
  for (const [index, { id, secrets }] of clients.entries()) {
    const before = ids.get(id);
    if (before !== undefined) {
      throw new ClientsRefused(`client ${index + 1}, id: ${shown(id)} is the id of client ${before} already`);
    }
    ids.set(id, index + 1);
    for (const [at, { sha256: digits, name }] of secrets.entries()) {
      const where = `client ${index + 1} (${shown(id)}), secret ${at + 1}`;
      const twin = secretsBefore.get(digits) ?? secretsBefore.get(name);
      if (twin !== undefined) throw new ClientsRefused(`${where}: the same as ${twin}`);
      secretsBefore.set(digits, where);
      if (name !== undefined) secretsBefore.set(name, where);
    }
  }
}

const isText = (value: unknown, pattern: RegExp): value is string =>
  typeof value === 'string' && pattern.test(value);

const refused = (where: string, expected: string, came: unknown): ClientsRefused =>
  new ClientsRefused(`${where}: expected ${expected}, got ${shown(came)}`);

/** A refusal that shows only the length of a wrong text, because a secret or a hash may be in the wrong place of the file. */
const refusedUnseen = (where: string, expected: string, came: unknown): ClientsRefused =>
  new ClientsRefused(
    `${where}: expected ${expected}, got ${typeof came === 'string' ? hidden(came) : shown(came)}`,
  );

const hidden = (text: string): string => `${text.length} characters that are not shown`;

/** Describes a wrong value for a refusal. Shows a short text, unless the text may contain a secret or a hash. */
function shown(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPrivate = value.length > 64 || value.includes(secretPrefix) || /[0-9A-Za-z+/_-]{24}/.test(value);
  return isPrivate ? hidden(value) : JSON.stringify(value);
}

// A file of clients that is too large is refused by its size, and never read whole.

/** The largest file of clients that is read: enough for some 25,000 clients. */
const fileBytesMax = 8 * 1024 * 1024;

export async function readClientsFile(path: string): Promise<Buffer> {
  try {
    // Without `O_NONBLOCK`, opening a named pipe to which no process writes would never end.
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const stats = await file.stat();
    if (!stats.isFile()) throw new ClientsRefused('the file is no regular file');
    if (stats.size > fileBytesMax)
      throw new ClientsRefused(`the file has ${stats.size} bytes, and may have at most ${fileBytesMax}`);
    // The file may grow during the read: the spare byte of the buffer shows growth.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(stats.size + 1), 0, stats.size + 1, 0);
    if (bytesRead > stats.size) throw new ClientsRefused('the file was written to during the read');
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (error instanceof ClientsRefused) throw error;
    throw new ClientsRefused(`the file cannot be read (${reasonOf(error)})`, { cause: error });
  }
}

export function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return fileReasons.get(code) ?? code;
}
