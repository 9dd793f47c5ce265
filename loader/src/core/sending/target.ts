// The target of a load: an integration of a service.
import { RequestFailed, type RecordClient } from '@integration-sync/client';
import { markOf } from './refusals.ts';

export interface Target {
  url: string;
  /** The integration; undefined if it was not known, or if release 1.1.0 wrote the target. */
  integration?: string | undefined;
}

/**
 * Whether two targets are the same. Integrations are compared only if `one` has an integration, because release 1.1.0 wrote none.
 */
export const isSameTarget = (one: Target, other: Target): boolean =>
  one.url === other.url && (one.integration === undefined || one.integration === other.integration);

/** The integration of the client's key; undefined if `GET /token` is not answered, because a proxy may not forward it. */
export async function integrationOf(client: RecordClient): Promise<string | undefined> {
  try {
    return (await client.token()).integrationId;
  } catch (error) {
    if (!(error instanceof RequestFailed)) throw error;
    // Without a valid key a listing is refused too, and its error is thrown.
    await markOf(client, 'suppliers');
    return undefined;
  }
}

export const targetText = ({ url, integration }: Target): string =>
  integration === undefined ? url : `${integration} at ${url}`;
