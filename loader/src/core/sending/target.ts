// Where a load goes: an integration of a service.
import { RequestFailed, type Client } from '@integration-sync/client';

export interface Target {
  url: string;
  /** Undefined if the service did not say it, or by release 1.1.0. */
  integration?: string | undefined;
}

/** Release 1.1.0 wrote no integration. */
export const isSameTarget = (one: Target, other: Target): boolean =>
  one.url === other.url && (one.integration === undefined || one.integration === other.integration);

/** Undefined where the service does not say it: a proxy may pass only the interface on. */
export async function integrationOf(client: Client): Promise<string | undefined> {
  try {
    return (await client.token()).integrationId;
  } catch (error) {
    if (error instanceof RequestFailed || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export const targetText = ({ url, integration }: Target): string =>
  integration === undefined ? url : `${integration} at ${url}`;
