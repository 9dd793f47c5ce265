// The receivers of webhooks: all in one process, each with a path of its own.
import { openStore } from '@integration-sync/runtime/store';
import { openRandom } from '../../fuzz/random.ts';
import { openCaller } from '../caller.ts';
import { planEndpoints } from '../endpoints.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { startReceiver, type Receiving } from '../receiver.ts';
import { letRecover } from '../recovering.ts';
import { folder, log, noteFailure, stop, takeRole } from '../role.ts';

const endpoints = openLedgerFile(folder, 'endpoints');
const replays = openLedgerFile(folder, 'replays');
const receiving = new Map<string, Receiving>();
const ending = new AsyncDisposableStack();
const recovering: Promise<void>[] = [];

async function start(): Promise<void> {
  const plan = readPlan(folder);
  const random = openRandom(plan.seed * 1_000 + 900);
  const { mongodb: url, database } = plan;
  const store = ending.use(await openStore({ url, database, log }));
  const address = await startReceiver(openLedgerFile(folder, 'deliveries'), receiving, random);
  for (const [nth, { integration, behaviour, events, settings }] of planEndpoints(plan.rules).entries()) {
    const caller = openCaller(plan, integration);
    const { promise: registered, resolve } = Promise.withResolvers<void>();
    const one: Receiving = { behaviour, secrets: [], registered };
    receiving.set(`/${nth}`, one);
    const body = { url: `${address}/${nth}`, events, ...settings };
    const answer = await caller.ask({ method: 'POST', path: '/webhook-events', body });
    if (answer.outcome !== 201) throw new Error(`a webhook was answered ${answer.outcome}: ${answer.body}`);
    const { id, secret }: { id: string; secret: string } = JSON.parse(answer.body);
    one.secrets.push(secret);
    resolve();
    endpoints.write({ endpoint: id, integration, behaviour, events });
    if (behaviour !== 'recovering') continue;
    const of = { endpoint: id, receiving: one, caller, store, replays, random };
    recovering.push(letRecover(of).catch(noteFailure));
  }
}

takeRole(
  {
    start,
    /** The storm is over: every receiver takes all deliveries. */
    async heal() {
      stop.abort();
      await Promise.all(recovering);
      for (const one of receiving.values()) one.behaviour = 'steady';
    },
  },
  () => ending.disposeAsync(),
);
