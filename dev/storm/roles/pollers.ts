// The callers that list: one for each listing of each integration. Each polls by the last X-Next-Since, and now and
// then looks at a page from the beginning.
import { setTimeout as wait } from 'node:timers/promises';
import { openRandom, type Random } from '../../fuzz/random.ts';
import { nextOf, openCaller, type Answer, type Caller } from '../caller.ts';
import { within } from '../faults.ts';
import { openLedgerFile } from '../ledger.ts';
import { plurals, type Plural, type Sighting } from '../lines.ts';
import { readPlan } from '../plan.ts';
import { folderOfRole, takeRole } from '../role.ts';
import { sightingsOf } from '../sightings.ts';

const folder = folderOfRole();
const stop = new AbortController();
const file = openLedgerFile(folder, 'pages');
const lastPolls: (() => Promise<void>)[] = [];
let polling: Promise<unknown> = Promise.resolve();

interface Poller {
  reader: string;
  integration: string;
  plural: Plural;
  caller: Caller;
  random: Random;
  poll: number;
  since: string | undefined;
}

async function readPage(poller: Poller, path: string, poll: number | null): Promise<Answer | undefined> {
  const { reader, integration, plural, caller, random } = poller;
  const answer = await caller.ask({ path, gateway: random.integer(2) });
  const { begunMs, endedMs } = answer;
  if (answer.outcome !== 200) return undefined;
  const entities: readonly Sighting[] = sightingsOf(answer.body);
  const isLast = nextOf(answer) === undefined;
  file.write({ reader, poll, integration, plural, begunMs, endedMs, isLast, entities });
  return answer;
}

/** Reads one poll from its first page to its last. After a failed page, the next poll begins at the same `since`. */
async function pollOnce(poller: Poller): Promise<boolean> {
  const { plural, since } = poller;
  const poll = (poller.poll += 1);
  const first = await readPage(
    poller,
    `/${plural}?limit=100${since === undefined ? '' : `&since=${since}`}`,
    poll,
  );
  for (let page = first; page !== undefined;) {
    const next = nextOf(page);
    if (next === undefined) {
      poller.since = String(first?.headers['x-next-since']);
      return true;
    }
    page = await readPage(poller, next, poll);
  }
  return false;
}

async function run(poller: Poller): Promise<void> {
  while (!stop.signal.aborted) {
    await pollOnce(poller);
    if (poller.random.chance(0.5)) await readPage(poller, `/${poller.plural}?limit=100`, null);
    await wait(within(poller.random, pauseMs), undefined, { signal: stop.signal }).catch(() => undefined);
  }
}

const triesMax = 20;
const pauseMs = [300, 1_500] as const;

function start(): void {
  const plan = readPlan(folder);
  const listings = plan.rules.integrations.flatMap((integration) =>
    plurals.map((plural) => ({ integration, plural })),
  );
  polling = Promise.all(
    listings.map(async ({ integration, plural }, nth) => {
      const random = openRandom(plan.seed * 1_000 + 500 + nth);
      const caller = openCaller(plan, integration);
      const poller: Poller = {
        reader: `poller of ${integration}/${plural}`,
        integration,
        plural,
        caller,
        random,
        poll: 0,
        since: undefined,
      };
      lastPolls.push(async () => {
        let tries = 1;
        while (!(await pollOnce(poller)) && tries < triesMax) tries += 1;
        if (tries === triesMax) throw new Error(`${poller.reader} was refused though the storm is over`);
      });
      await run(poller);
    }),
  );
}

takeRole({
  async start() {
    start();
  },
  /** Ends the polling; each poller then polls once more, which has to show every record that it has not shown. */
  async stop() {
    stop.abort();
    await polling;
    await Promise.all(lastPolls.map((poll) => poll()));
  },
});
