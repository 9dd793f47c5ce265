// A place of the feed: the offset from which a caller goes on, sealed. It belongs to one integration and one making of the
// log, whatever kinds and however many events the caller asks for. A caller keeps it for days, so each of the keys opens what
// it has sealed, as with signing secrets.
import { seal, unseal } from '@integration-sync/runtime/seal';
import type { LogPoint } from '../log/offset.ts';
import { parseKeys } from '../secrets/vault.ts';

export interface Place extends LogPoint {
  /** The making of the log that it is in. */
  stream: string;
  /** Events up to this time are passed over until the first later one; epoch milliseconds. */
  sinceMs: number | null;
}

export interface Places {
  seal(integration: string, place: Place): string;
  /** Undefined for a text that webhooks did not issue for this integration. */
  open(integration: string, text: string): Place | undefined;
}

type Sealed = [stream: string, sequence: number, index: number, sinceMs: number | null];

/** `keys` as the vault takes them; the first one seals. */
export function openPlaces(keys: string): Places {
  const all = [...(parseKeys(keys)?.values() ?? [])].map((key) => `feed ${key.toString('base64')}`);
  const [first] = all;
  if (first === undefined) throw new Error('not a list of keys');
  return {
    seal(integration, { stream, sequence, index, sinceMs }) {
      const content: Sealed = [stream, sequence, index, sinceMs];
      return seal(first, integration, JSON.stringify(content));
    },
    open(integration, text) {
      for (const key of all) {
        const content = unseal(key, integration, text);
        if (content === undefined) continue;
        const [stream, sequence, index, sinceMs]: Sealed = JSON.parse(content);
        return { stream, sequence, index, sinceMs };
      }
      return undefined;
    },
  };
}
