// Times in different files of which one must be longer than another. The test of times reads both from the files.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Two times, each as a file and the name of a constant in it. */
export interface Order {
  short: string;
  /** Must be longer than `short`; with `times`, at least so many times as long. */
  long: string;
  times?: number;
  why: string;
}

const bus = 'shared/runtime/src/bus';
const store = 'shared/runtime/src/store/index.ts';
const sync = 'shared/sync/src';
const contracts = 'shared/contracts/src';
const gateway = 'services/gateway/src';
const webhooks = 'services/webhooks/src';

export const orders: readonly Order[] = [
  {
    short: `${bus}/serve.ts heldBackPatienceMs`,
    long: `${contracts}/routes/route.ts pushTimeoutMs`,
    times: 2,
    why: 'a push that waited for others of the same records still has time to be written',
  },
  {
    short: `${sync}/pushing/write.ts writingMsMax`,
    long: `${sync}/journal/journal-times.ts ownedMs`,
    why: 'a push writes nothing any more when another replica takes its entry over',
  },
  {
    short: `${store} operationMsMax`,
    long: `${sync}/journal/journal-times.ts watchMs`,
    times: 2,
    why: 'what a replica sent before it lost its entry has arrived, or never will, when the entry is done with',
  },
  {
    short: `${sync}/recovery/sweeper.ts everyMs`,
    long: `${sync}/journal/journal-times.ts ownedMs`,
    why: 'an entry that was left behind is found soon after it is due',
  },
  {
    short: `${bus}/publish.ts ackTimeoutMs`,
    long: `${sync}/announcing/announcer.ts triesForMs`,
    times: 3,
    why: 'a leader that stands still does not use up the tries of a replica that announces',
  },
  {
    short: `${sync}/announcing/announcer.ts triesForMs`,
    long: `${sync}/journal/journal-times.ts ownedMs`,
    why: 'a replica begins no try to announce any more when another one takes the entry over',
  },
  {
    short: `${sync}/announcing/announcer.ts triesForMs`,
    long: `${sync}/announcing/announcer.ts hinderedMs`,
    why: 'sweepers look every second or two when a replica leaves an entry to them',
  },
  {
    short: `${sync}/announcing/announcer.ts againMs`,
    long: `${sync}/recovery/sweeper.ts againMs`,
    why: 'what a cluster refuses while it elects a leader is announced by the replica that has it, not by a sweeper',
  },
  {
    short: `${sync}/recovery/sweeper.ts againMs`,
    long: `${sync}/recovery/sweeper.ts everyMs`,
    why: 'a sweeper that failed looks again before its turn',
  },
  {
    short: `${sync}/journal/journal-times.ts againLeastMs`,
    long: `${sync}/journal/journal-times.ts ownedMs`,
    why: 'an entry that could not be settled is due again before its owner is overdue',
  },
  {
    short: `${sync}/pushing/write.ts writingMsMax`,
    long: `${sync}/recovery/sweeper.ts forgottenMs`,
    why: 'the sweeper closes only what no push can still begin with',
  },
  {
    short: `${sync}/journal/journal-times.ts watchMs`,
    long: `${contracts}/streams.ts duplicateWindowMs`,
    times: 2,
    why: 'events that are published again after the settling have ids that the stream still remembers',
  },
  {
    short: `${bus}/still-waiting.ts confirmedWithinMs`,
    long: `${sync}/pushing/may-still-write.ts answeredWithinMs`,
    why: 'only a replica that stood still while it asked its caller asks again',
  },
  {
    short: `${sync}/pushing/may-still-write.ts promptLeftMs`,
    long: `${bus}/request.ts waitedForMs`,
    why: 'the promise of the caller to wait covers a push that begins immediately',
  },
  {
    short: `${gateway}/body/body-budgets.ts patienceMs`,
    long: `${contracts}/routes/route.ts listTimeoutMs`,
    times: 2,
    why: 'a request that waited at the gateway and at the service is still answered in time',
  },
  {
    short: 'services/batches/src/products.ts timeoutMs',
    long: `${contracts}/routes/route.ts pushTimeoutMs`,
    times: 2,
    why: 'a push of batches says that catalog is away before its own caller gives up',
  },
  {
    short: 'services/catalog/src/runs.ts timeoutMs',
    long: `${contracts}/routes/route.ts listTimeoutMs`,
    why: 'a listing of pushes says that batches is away before its own caller gives up',
  },
  {
    short: `${webhooks}/matching/cutoff.ts timeoutMs`,
    long: `${contracts}/routes/route.ts manageTimeoutMs`,
    times: 2,
    why: 'a webhook is registered though catalog or batches is away',
  },
  {
    short: `${contracts}/limits.ts deliveryDeadlineMs`,
    long: `${contracts}/routes/route.ts testTimeoutMs`,
    why: 'a test delivery ends before its caller gives up',
  },
  {
    short: `${webhooks}/api/drill.ts drillMs`,
    long: `${contracts}/routes/route.ts drillTimeoutMs`,
    why: 'a drill ends before its caller gives up',
  },
  {
    short: `${contracts}/limits.ts deliveryDeadlineMs`,
    long: `${webhooks}/service.ts stopMs`,
    why: 'test deliveries end by themselves when the process stops',
  },
  {
    short: `${webhooks}/service.ts stopMs`,
    long: 'shared/runtime/src/lifecycle.ts stopMs',
    why: 'the process still closes its connections before it is ended',
  },
  {
    short: `${gateway}/server/server.ts lastRequestsMs`,
    long: `${gateway}/server/server.ts closeWithinMs`,
    why: 'the gateway answers the last requests before it cuts connections',
  },
  {
    short: `${gateway}/server/server.ts closeWithinMs`,
    long: 'shared/runtime/src/lifecycle.ts stopMs',
    why: 'the gateway closes its connections before the process is ended',
  },
  {
    short: `${contracts}/limits.ts deliveryDeadlineMs`,
    long: `${webhooks}/api/attempt-listing.ts settlingMs`,
    why: 'a page of the attempt log does not miss attempts that began before it and ended after it',
  },
  {
    short: `${webhooks}/owning/replicas.ts beatMs`,
    long: `${webhooks}/owning/replicas.ts silenceMs`,
    times: 4,
    why: 'a replica is taken for dead after some lost beats, not after one',
  },
  {
    short: `${webhooks}/owning/replicas.ts unheardMs`,
    long: `${webhooks}/owning/replicas.ts silenceMs`,
    why: 'a replica that no other replica hears begins no attempt before another replica claims its partitions',
  },
  {
    short: `${bus}/connectivity.ts backWithinMs`,
    long: `${bus}/still-waiting.ts confirmedWithinMs`,
    times: 2,
    why: 'a caller whose NATS connection is down for a moment does not count as one that has given up',
  },
  {
    short: `${bus}/connectivity.ts backWithinMs`,
    long: `${contracts}/routes/route.ts listTimeoutMs`,
    times: 2,
    why: 'a request that no replica has got is refused long before its time is over',
  },
  {
    short: `${bus}/lame-duck.ts spreadMs`,
    long: `${bus}/lame-duck.ts leaveWithinMs`,
    why: 'the replicas of one service leave a server one after another',
  },
  {
    short: `${webhooks}/sending/receiver-connections.ts proxyConnectTimeoutMs`,
    long: `${contracts}/limits.ts deliveryDeadlineMs`,
    why: 'that the egress proxy is away is known before the attempt counts against the receiver',
  },
  {
    short: `${store} serverSelectionTimeoutMS`,
    long: `${contracts}/routes/route.ts listTimeoutMs`,
    times: 2,
    why: 'a listing says that MongoDB is away before its caller gives up',
  },
  {
    short: 'shared/runtime/src/tracing/opentelemetry.ts flushMs',
    long: 'shared/runtime/src/lifecycle.ts stopMs',
    times: 4,
    why: 'a collector that does not answer does not keep a process, whose attempts ended late, from ending in time',
  },
];

const root = join(import.meta.dirname, '../..');

export function timeOf(place: string): number {
  const [file = '', name = ''] = place.split(' ');
  try {
    return timeIn(readFileSync(join(root, file), 'utf8'), name);
  } catch (error) {
    throw new Error(`${file}: ${String(error)}`, { cause: error });
  }
}

/** A constant in milliseconds, read from source code such as `name = 5 * 60 * 1000`. */
export function timeIn(text: string, name: string): number {
  const said = String.raw`\b${name}(?:: number)?\s*[=:]\s*([\d_]+(?:\s*\*\s*[\d_]+)*)\s*[,;}]`;
  const [found, ...others] = text.matchAll(new RegExp(said, 'g'));
  if (found?.[1] === undefined) throw new Error(`no constant in milliseconds is called ${name}`);
  if (others.length > 0) throw new Error(`${others.length + 1} constants are called ${name}`);
  return found[1].split('*').reduce((product, factor) => product * Number(factor.replaceAll('_', '')), 1);
}
