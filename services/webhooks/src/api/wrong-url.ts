// What is wrong with an endpoint that a caller describes, besides its form: whether webhooks may go where its url leads, and
// whether each of its headers is one that a delivery may carry.
import type { FailureEntry } from '@integration-sync/contracts';
import { TargetRefused, type EgressGuard } from '../sending/egress-guard.ts';
import type { Examined } from './body.ts';
import { wrongHeaderNamesIn } from './settings.ts';

export const wrongIn = async (guard: EgressGuard, examined: Examined<unknown>): Promise<FailureEntry[]> => [
  ...wrongHeaderNamesIn(examined.given),
  ...(await wrongUrlIn(guard, examined)),
];

/** The target of the url, where it has the form of a url at all. */
async function wrongUrlIn(guard: EgressGuard, { given, errors }: Examined<unknown>): Promise<FailureEntry[]> {
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
