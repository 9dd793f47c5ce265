// The messages of a load if the service refuses it or does not answer, or if the machine fails.
import { RequestFailed, Unreachable, type RecordClient, type Kind } from '@integration-sync/client';
import { exitCodes, messageOf, Stop, systemCodeOf } from '../exit.ts';

/** Turns an error into a `Stop`, whose message says what to do. Throws errors that are bugs. */
export function stopOf(error: unknown): Stop {
  if (error instanceof Stop) return error;
  if (error instanceof Unreachable) return new Stop(error.message, exitCodes.unfinished, { cause: error });
  if (error instanceof RequestFailed) return refusalOf(error);
  if (systemCodeOf(error) === 'ENOSPC') {
    return new Stop('The disk is full: make room.', exitCodes.unfinished, { cause: error });
  }
  // An error of the file system, such as a missing permission. Its message names the file.
  if (systemCodeOf(error) !== undefined && error instanceof Error && 'syscall' in error)
    return new Stop(error.message, undefined, { cause: error });
  throw error;
}

/** Does the same as `stopOf`, but after the first Ctrl-C every error becomes an interruption. */
export function stopAfter(error: unknown, { aborted }: AbortSignal): Stop {
  const isSaid = error instanceof Stop && error.exitCode === exitCodes.interrupted;
  return aborted && !isSaid ? new Stop('Interrupted.', exitCodes.interrupted) : stopOf(error);
}

function refusalOf(error: RequestFailed): Stop {
  if (error.status === 401)
    return new Stop('401: the service does not take the key. Is it whole, of this service, and not expired?');
  if (error.status === 403) return new Stop(`403: the key lacks the scope ${error.scope ?? 'for this'}.`);
  const unsaid = error.errors.filter(({ detail }) => !error.message.includes(detail));
  const details = unsaid.map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`);
  return new Stop(error.message + details.join(''), undefined, { cause: error });
}

/**
 * The mark for prune: a time before the load. Undefined if the key lacks the scope to read: such a key can load, but prune then
 * refuses, because it has no mark.
 */
export async function markOf(
  client: RecordClient,
  kind: Kind,
  signal?: AbortSignal,
): Promise<string | undefined> {
  try {
    const { value } = await client
      .pages(kind, { limit: 1, ...(signal === undefined ? {} : { signal }) })
      .next();
    return value === undefined ? undefined : value.nextSince;
  } catch (error) {
    if (error instanceof RequestFailed && error.status === 403) return undefined;
    throw error;
  }
}

/** The message that the console shows for an error, even if the error is a bug. */
export const inWords = (error: unknown): string =>
  error instanceof RequestFailed ? refusalOf(error).message : messageOf(error);
