// The clients of this gateway, from AUTH_CLIENTS_FILE. The gateway compares the file's content every 5 s: a file
// watcher would lose a mounted Secret, which Kubernetes swaps by symlinks. If the new content is wrong, all of it is
// refused, and the gateway keeps the clients of the former content.
import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { ConfigError } from '@integration-sync/runtime/config';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import { Counter } from 'prom-client';
import { TokenRefused, type Caller } from '../tokens/token-claims.ts';
import { ClientsRefused, parseClients, readClientsFile, type Client } from './clients-file.ts';
import { indexClients, type Credential, type Credentials } from './credential-index.ts';

const checkEveryMs = 5_000;
/** The wait before a second read: while Kubernetes swaps links or a program moves files, the file may be missing. */
const againMs = 500;
const endsSoonMs = 14 * 24 * 60 * 60_000;
/** How many secrets that end soon `/readyz` names. Further such secrets are only counted. */
const endingNotesMax = 5;

export type Clients = Awaited<ReturnType<typeof openClients>>;

export interface ClientsOptions {
  path: string;
  now: () => number;
  log: Log;
  registry: Metrics['registry'];
  checkEveryMs?: number | undefined;
}

/** Opens the file of clients. Throws `ConfigError` if the file is wrong: then the gateway does not start. */
export async function openClients(options: ClientsOptions) {
  const { now, registry } = options;
  const file = await openFile(options);
  countUses(registry, () => file.credentials.all);

  return {
    /** Returns the caller whose key this is. Counts a use, but not twice for one request. Throws `TokenRefused`. */
    verifyKey(key: string, again?: 'again'): Caller {
      const credential = file.credentials.find(key, now());
      if (again === undefined) credential.uses += 1;
      return credential.caller;
    },
    /** The credential of this client and secret; undefined for a secret that is wrong or has ended. */
    authenticate(clientId: string, secret: string): Credential | undefined {
      try {
        const credential = file.credentials.find(secret, now());
        if (credential.client.id !== clientId) return undefined;
        credential.uses += 1;
        return credential;
      } catch (error) {
        if (error instanceof TokenRefused) return undefined;
        throw error;
      }
    },
    find: (clientId: string): Client | undefined => file.credentials.clients.get(clientId),
    readIssued: (claims: Readonly<Record<string, unknown>>): Caller | undefined =>
      readIssued(file.credentials, claims, now()),
    /** Notes in `/readyz`: a refused file, and secrets that end soon. Anybody may read these, so they name no client. */
    notes: (): string[] => [...file.notes(), ...notesOfEnds(file.credentials, now())],
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  };
}

/**
 * What a token may do is decided by the client's entry in the file, not by the token. A token is valid until its secret or its
 * client is removed, and loses each scope that the client loses.
 */
function readIssued(
  credentials: Credentials,
  claims: Readonly<Record<string, unknown>>,
  nowMs: number,
): Caller | undefined {
  const { secret_id: secretId, client_id: clientId, scope } = claims;
  if (secretId === undefined) return undefined;
  const credential = typeof secretId === 'string' ? credentials.findById(secretId) : undefined;
  if (credential === undefined || credential.client.id !== clientId || credential.endsAtMs <= nowMs) {
    throw new TokenRefused('the secret that fetched the token is removed, or has ended');
  }
  const { caller } = credential;
  if (scope === credential.scope) return caller;
  const words = typeof scope === 'string' ? scope.split(' ') : [];
  return { ...caller, scopes: new Set(words.filter((word) => caller.scopes.has(word))) };
}

async function openFile(options: ClientsOptions) {
  const { path, log, checkEveryMs: everyMs = checkEveryMs } = options;
  let credentials: Credentials;
  /** The SHA-256 of the content that was read last, and the reason for which that content is refused. */
  let seen = '';
  let problem: string | undefined;
  try {
    const bytes = await readClientsFile(path);
    credentials = indexClients(parseClients(bytes));
    seen = digestOf(bytes);
  } catch (error) {
    if (!(error instanceof ClientsRefused)) throw error;
    const words = `AUTH_CLIENTS_FILE: ${JSON.stringify(path)} is refused: ${error.message}`;
    throw new ConfigError([words], { cause: error });
  }

  /** Logs one line for each refused content. An unexpected error does not end the gateway either. */
  const refuse = (digest: string, error: unknown): void => {
    const isExpected = error instanceof ClientsRefused;
    const reason = isExpected ? error.message : 'an unexpected error';
    if (digest === seen && reason === problem) return;
    [seen, problem] = [digest, reason];
    log.error(
      { path, problem, err: isExpected ? undefined : error },
      'AUTH_CLIENTS_FILE is refused; the gateway keeps the clients of the former content',
    );
  };
  const closing = new AbortController();
  const { signal } = closing;
  const check = async (): Promise<void> => {
    let digest = 'unread';
    try {
      const bytes = await readClientsFile(path).catch(() => wait(againMs, undefined, { signal }));
      const content = bytes ?? (await readClientsFile(path));
      digest = digestOf(content);
      if (digest === seen) return;
      credentials = indexClients(parseClients(content), credentials);
      [seen, problem] = [digest, undefined];
      const { clients, all } = credentials;
      log.info({ path, clients: clients.size, credentials: all.length }, 'AUTH_CLIENTS_FILE was read');
    } catch (error) {
      if (!signal.aborted) refuse(digest, error);
    }
  };
  const checks = openPeriodicCheck(check, { what: 'AUTH_CLIENTS_FILE', everyMs, log });

  return {
    get credentials(): Credentials {
      return credentials;
    },
    notes: () => (problem === undefined ? [] : [refusedNote]),
    async [Symbol.asyncDispose]() {
      closing.abort();
      await checks[Symbol.asyncDispose]();
    },
  };
}

const refusedNote =
  'AUTH_CLIENTS_FILE is refused: the log says why. The gateway keeps the clients of the former content.';

const digestOf = (bytes: Buffer): string => hash('sha256', bytes, 'base64');

function notesOfEnds({ all }: Credentials, nowMs: number): string[] {
  const ending = all
    .filter(({ endsAtMs }) => endsAtMs > nowMs && endsAtMs - nowMs < endsSoonMs)
    .toSorted((a, b) => a.endsAtMs - b.endsAtMs);
  const notes = ending.slice(0, endingNotesMax).map(({ caller: { key }, endsAtMs }) => {
    const secret = key === undefined ? 'A secret' : `The secret ${key}`;
    return `${secret} ends at ${new Date(endsAtMs).toISOString()}.`;
  });
  const others = ending.length - notes.length;
  return others === 0 ? notes : [...notes, `${others} more secrets end within 14 days.`];
}

/** Each credential counts its uses and a scrape reads the counts, so that no request looks up labels of the metric. */
function countUses(registry: Metrics['registry'], list: () => readonly Credential[]): void {
  const counter = new Counter({
    name: 'sync_credential_uses_total',
    help: 'Requests with a key, and tokens fetched with it, by client and by the 8 characters that name the secret.',
    labelNames: ['client', 'secret'],
    registers: [registry],
    collect() {
      counter.reset();
      for (const { client, caller, uses } of list()) {
        if (caller.key !== undefined) counter.inc({ client: client.id, secret: caller.key }, uses);
      }
    },
  });
}
