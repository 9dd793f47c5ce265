// Address and key of the service. The key is from the environment or a file: every user of the machine sees arguments.
import { readFile } from 'node:fs/promises';
import { openClient, RequestFailed, Unreachable, type Client } from '@integration-sync/client';
import { exitCodes, messageOf, Stop, systemCodeOf } from './core/exit.ts';
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
  /** Resolves once the service answers, also if it refuses the request. */
  answering: Promise<void>;
}

/** An abort of `signal` ends requests in flight. */
export async function connect(
  environment: Environment,
  values: ConnectionValues,
  signal: AbortSignal,
): Promise<Connection> {
  const patienceSeconds = countOf('patience', values.patience, 1, 86_400);
  const url = values.url ?? environment['INTEGRATION_SYNC_URL'];
  if (!url)
    throw new Stop('Where is the service? Set INTEGRATION_SYNC_URL, or say --url https://sync.example.com');
  if (!URL.canParse(url)) throw new Stop(`"${url}" is no URL such as https://sync.example.com`);
  const key = await readKey(environment, values['key-file']);
  const clientId = environment['INTEGRATION_SYNC_CLIENT_ID'];
  const credentials = clientId ? { clientId, clientSecret: key } : { key };
  let resolve: (() => void) | undefined;
  const answering = new Promise<void>((settle) => (resolve = settle));
  const client = openClient({
    baseUrl: url,
    ...credentials,
    patienceMs: patienceSeconds * 1_000,
    signal,
    async fetch(...asked) {
      const answer = await fetch(...asked);
      if (answer.status < 500) resolve?.();
      return answer;
    },
  });
  return { url, client, answering };
}

/** Undefined where the service does not say it: a proxy may pass only the interface on. */
export async function integrationOf(client: Client): Promise<string | undefined> {
  try {
    return (await client.token()).integrationId;
  } catch (error) {
    if (error instanceof RequestFailed || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const targetText = ({
  url,
  integration,
}: {
  url: string;
  integration?: string | undefined;
}): string => (integration === undefined ? url : `${integration} at ${url}`);

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

/** Turns an error into a `Stop`, whose message says what to do. Throws errors that are bugs. */
export function stopOf(error: unknown): Stop {
  if (error instanceof Stop) return error;
  if (error instanceof Unreachable) return new Stop(error.message, exitCodes.unfinished, { cause: error });
  if (error instanceof RequestFailed) return refusalOf(error);
  if (systemCodeOf(error) === 'ENOSPC') {
    return new Stop('The disk is full. Make room; load --resume goes on.', exitCodes.unfinished, {
      cause: error,
    });
  }
  // An error of the file system, such as a missing permission. Its message names the file.
  if (systemCodeOf(error) !== undefined && error instanceof Error && 'syscall' in error)
    return new Stop(error.message, undefined, { cause: error });
  throw error;
}

function refusalOf(error: RequestFailed): Stop {
  if (error.status === 401)
    return new Stop('401: the service does not take the key. Is it whole, and of this service?');
  if (error.status === 403) return new Stop(`403: the key lacks the scope ${error.scope ?? 'for this'}.`);
  const details = error.errors.map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`);
  return new Stop(error.message + details.join(''), undefined, { cause: error });
}
