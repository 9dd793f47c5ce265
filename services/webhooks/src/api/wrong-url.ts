// A url that a caller gives: whether webhooks may go where it leads.
import type { FailureEntry } from '@integration-sync/contracts';
import { TargetRefused, type EgressGuard } from '../sending/egress-guard.ts';
import type { Examined } from './body.ts';

/** The target of the url, where it has the form of a url at all. */
export async function wrongUrlIn(
  guard: EgressGuard,
  { given, errors }: Examined<unknown>,
): Promise<FailureEntry[]> {
  const pointer = '/url';
  const url: unknown = Reflect.get(given, 'url');
  if (typeof url !== 'string' || errors.some((entry) => entry.pointer === pointer)) return [];
  try {
    await guard(url);
    return [];
  } catch (error) {
    if (!(error instanceof TargetRefused)) throw error;
    return [{ pointer, detail: `url: ${error.message}` }];
  }
}
