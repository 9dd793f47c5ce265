// The address of the service, and the key. The key comes from the environment or a file, because every user of a machine can see
// arguments.
import { readFile } from 'node:fs/promises';
import { openClient, type Client } from '@integration-sync/client';
import { messageOf, Stop } from './core/exit.ts';
import { countOf } from './options.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The values of the arguments in `connectionOptions`. */
export interface ConnectionValues {
  url?: string | undefined;
  'key-file'?: string | undefined;
  patience: string;
}

export interface Connection {
  url: string;
  client: Client;
  /** Resolves once any request has an answer, even a 503 that asks to retry later. */
  answering: Promise<void>;
}

/** Opens the client. An abort of `signal` aborts its requests in flight. */
export async function connect(
  environment: Environment,
  values: ConnectionValues,
  signal: AbortSignal,
): Promise<Connection> {
  const patienceSeconds = countOf('patience', values.patience, 1, 86_400);
  const url = values.url ?? environment['INTEGRATION_SYNC_URL'];
  if (!url)
    throw new Stop('Where is the service? Set INTEGRATION_SYNC_URL, or say --url https://sync.example.com');
  if (!/^https?:/i.test(url) || !URL.canParse(url))
    throw new Stop(`"${url}" is no URL such as https://sync.example.com`);
  const key = await readKey(environment, values['key-file']);
  const clientId = environment['INTEGRATION_SYNC_CLIENT_ID'];
  if (!clientId && !/^[\w~+/.=-]+$/.test(key))
    throw new Stop('The key has characters that no key has: copy the whole key once more.');
  const credentials = clientId ? { clientId, clientSecret: key } : { key };
  let resolve: (() => void) | undefined;
  const answering = new Promise<void>((done) => (resolve = done));
  const client = openClient({
    baseUrl: url,
    ...credentials,
    patienceMs: patienceSeconds * 1_000,
    signal,
    async fetch(...asked) {
      const answer = await fetch(...asked);
      resolve?.();
      return answer;
    },
  });
  return { url, client, answering };
}

async function readKey(environment: Environment, keyFile: string | undefined): Promise<string> {
  if (keyFile === undefined) {
    const key = environment['INTEGRATION_SYNC_KEY']?.trim();
    if (key) return key;
    throw new Stop(
      'The key is missing: set INTEGRATION_SYNC_KEY, or name a file that holds it with --key-file.',
    );
  }
  const text = await readFile(keyFile, 'utf8').catch((error: unknown) => {
    throw new Stop(`The key cannot be read: ${messageOf(error)}`);
  });
  if (text.trim() === '') throw new Stop(`${keyFile} is empty: it should hold the key.`);
  return text.trim();
}
