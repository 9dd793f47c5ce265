// The events that were never delivered to a webhook, found in its newest failed and its newest successful attempts.
import { get } from '../api/request.ts';
import type { DeliveryAttempt, Listing } from '../api/shapes.ts';
import { undeliveredIn, type Undelivered } from '../text/undelivered.ts';
import { useLoad, type Loaded } from './use-load.ts';

const pageMax = 100;

export interface LoadedUndelivered extends Omit<Loaded<unknown>, 'answer'> {
  answer: Undelivered | undefined;
}

/** Sends no request if the path is undefined. */
export function useUndelivered(path: string | undefined, isLive = false): LoadedUndelivered {
  const [failed, succeeded] = [usePage(path, 'failed', isLive), usePage(path, 'succeeded', isLive)];
  const pages = [failed, succeeded].map(({ answer }) =>
    answer === undefined
      ? undefined
      : { attempts: answer.body.entities, isCut: answer.body.total > answer.body.entities.length },
  );
  const [ofFailed, ofSucceeded] = pages;
  return {
    answer:
      ofFailed === undefined || ofSucceeded === undefined ? undefined : undeliveredIn(ofFailed, ofSucceeded),
    at: Math.min(failed.at, succeeded.at),
    problem: failed.problem ?? succeeded.problem,
    reload() {
      failed.reload();
      succeeded.reload();
    },
  };
}

const usePage = (
  path: string | undefined,
  outcome: string,
  isLive: boolean,
): Loaded<Listing<DeliveryAttempt>> =>
  useLoad(path === undefined ? undefined : get(`${path}/deliveries`, { outcome, limit: pageMax }), isLive);
