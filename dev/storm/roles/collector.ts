// Comes when the storm is over: it waits until nothing moves, replays missed deliveries, and writes down the
// end state.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import type { DeliveryAttempt, Webhook } from '@integration-sync/contracts';
import { openCaller, type Caller } from '../caller.ts';
import { clockMs } from '../clock.ts';
import {
  collectAttempts,
  collectEvents,
  collectListings,
  collectStored,
  readEvents,
  walk,
} from '../collecting.ts';
import { openLedgerFile, readLedger } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { folderOfRole, takeRole } from '../role.ts';
import { untilAnnounced, untilDelivered } from '../settling.ts';

const folder = folderOfRole();
const ending = new AsyncDisposableStack();
const notes = ending.use(openLedgerFile(folder, 'notes'));
const replays = ending.use(openLedgerFile(folder, 'replays'));

async function connect() {
  const { nats, mongodb, database } = readPlan(folder);
  const log = openLog({ service: 'storm', level: 'silent' });
  return {
    bus: ending.use(await openBus({ url: nats, name: 'storm', log })),
    store: ending.use(await openStore({ url: mongodb, database, log })),
  };
}

const engines = connect();

function openCallers(): Map<string, Caller> {
  const plan = readPlan(folder);
  return new Map(plan.rules.integrations.map((name) => [name, openCaller(plan, name)]));
}

/** Enables disabled webhooks again, and replays what they missed. */
async function replayMissed(): Promise<string[]> {
  const callers = openCallers();
  const replayed: string[] = [];
  for (const { endpoint, integration } of await readLedger(folder, 'endpoints')) {
    const caller = callers.get(integration);
    const path = `/webhook-events/${endpoint}`;
    const found = await caller?.ask({ path });
    const webhook: Webhook = JSON.parse(found?.body ?? '{}');
    if (caller === undefined || webhook.active) continue;
    const enabled = await caller.ask({ method: 'PATCH', path, body: { active: true } });
    const body = { since: webhook.disabledAt };
    replays.write({ endpoint, atMs: clockMs() });
    const answer = await caller.ask({ method: 'POST', path: `${path}/replay`, body });
    const note = `${endpoint} had been disabled (${webhook.disabledReason}); enabled: ${enabled.outcome}, replayed: ${answer.outcome} ${answer.body}`;
    const isDone = enabled.outcome === 200 && answer.outcome === 202;
    notes.write({ atMs: clockMs(), note, ...(isDone ? {} : { isViolation: true }) });
    replayed.push(note);
  }
  return replayed;
}

const attemptsMax = 4;

/** What has been seen in the attempt logs so far: each keeps its last entries only, and a replay makes thousands. */
const given = new Set<string>();

/** By the attempt logs: `endpoint event` of what failed for the fourth time. */
async function readGivenUp(): Promise<ReadonlySet<string>> {
  const callers = openCallers();
  for (const { endpoint, integration, behaviour } of await readLedger(folder, 'endpoints')) {
    const caller = callers.get(integration);
    if (caller === undefined || behaviour === 'steady') continue;
    for await (const { body } of walk(
      caller,
      `/webhook-events/${endpoint}/deliveries?limit=100&outcome=failed`,
    )) {
      const { entities }: { entities: DeliveryAttempt[] } = JSON.parse(body);
      for (const { eventId, attempt } of entities)
        if (attempt >= attemptsMax) given.add(`${endpoint} ${eventId}`);
    }
  }
  return given;
}

async function collect(): Promise<void> {
  const { bus, store } = await engines;
  for (const [integration, caller] of openCallers()) await collectListings(folder, integration, caller);
  await collectStored(folder, store);
  await collectEvents(folder, bus);
  for (const { endpoint, integration } of await readLedger(folder, 'endpoints')) {
    const caller = openCallers().get(integration);
    if (caller !== undefined) await collectAttempts(folder, endpoint, caller);
  }
  using givenUp = openLedgerFile(folder, 'given-up');
  for (const name of await readGivenUp()) {
    const [endpoint = '', event = ''] = name.split(' ');
    givenUp.write({ endpoint, event });
  }
}

takeRole(
  {
    async settle() {
      const { store } = await engines;
      if (await untilAnnounced(store, readPlan(folder).rules.waitsForLateWrites)) return;
      const note = 'pushes that were cut off were not settled and announced in time';
      notes.write({ atMs: clockMs(), note, isViolation: true });
    },
    async replay() {
      await readGivenUp();
      return replayMissed();
    },
    async deliver() {
      const { bus } = await engines;
      await untilDelivered({ bus, folder, readEvents, readGivenUp });
    },
    collect,
  },
  () => ending.disposeAsync(),
);
