// Where a page of the attempt log ended, sealed: a caller can carry it, but neither make nor change one, nor use
// it for another endpoint.
import { seal, unseal } from '@integration-sync/runtime/seal';

export interface Cursor {
  /** Entries before this place in the log come next. */
  before: number;
  page: number;
  limit: number;
  sinceMs: number | null;
  outcome: string | null;
  event: string | null;
}

export function sealCursor(key: string, endpointId: string, cursor: Cursor): string {
  const { before, page, limit, sinceMs, outcome, event } = cursor;
  const sealed: Sealed = [before, page, limit, sinceMs, outcome, event];
  return seal(`cursor ${key}`, endpointId, JSON.stringify(sealed));
}

/** Undefined for a text that webhooks did not issue for this endpoint. */
export function openCursor(key: string, endpointId: string, text: string): Cursor | undefined {
  const content = unseal(`cursor ${key}`, endpointId, text);
  if (content === undefined) return undefined;
  const [before, page, limit, sinceMs, outcome, event]: Sealed = JSON.parse(content);
  return { before, page, limit, sinceMs, outcome, event };
}

type Sealed = [number, number, number, number | null, string | null, string | null];
