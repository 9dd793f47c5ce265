// The receivers of webhooks, each with a path of its own, and the customers who change their endpoints.
import { openStore } from '@integration-sync/runtime/store';
import { openRandom } from '../../fuzz/random.ts';
import { openCaller } from '../caller.ts';
import { openCustomer, type Customer } from '../customers/customer.ts';
import { changeIt, deleteIt, disableIt, drillIt, own } from '../customers/endpoints.ts';
import { letRecover } from '../customers/recovering.ts';
import { planEndpoints } from '../endpoints.ts';
import { openLedgerFile } from '../ledger.ts';
import { readPlan } from '../plan.ts';
import { endsOf } from '../profile.ts';
import { startReceiver, type Receiving } from '../receiver.ts';
import { folder, log, noteFailure, stop, stopped, takeRole } from '../role.ts';

const endpoints = openLedgerFile(folder, 'endpoints');
const replays = openLedgerFile(folder, 'replays');
const asks = openLedgerFile(folder, 'asks');
const receiving = new Map<string, Receiving>();
const ending = new AsyncDisposableStack();
const changing: Promise<void>[] = [];

async function start(): Promise<void> {
  const plan = readPlan(folder);
  const random = openRandom(plan.seed * 1_000 + 900);
  const { mongodb: url, database } = plan;
  const store = ending.use(await openStore({ url, database, log }));
  const address = await startReceiver(openLedgerFile(folder, 'deliveries'), receiving, random);
  const open = (by: string, integration: string): Customer =>
    openCustomer({ by, integration, caller: openCaller(plan, integration), random, log: asks, stopped });
  for (const [nth, { integration, behaviour, events, settings }] of planEndpoints(plan.rules).entries()) {
    const { promise: registered, resolve } = Promise.withResolvers<void>();
    const one: Receiving = { behaviour, secrets: [], registered };
    receiving.set(`/${nth}`, one);
    const customer = open(behaviour, integration);
    const body = { url: `${address}/${nth}`, events, ...settings };
    const { id: endpoint, secret } = await customer.insist(
      { method: 'POST', path: '/webhook-events', body },
      ({ id, secret: made }: { id: string; secret: string }) => ({ id, secret: made }),
    );
    one.secrets.push(secret);
    resolve();
    endpoints.write({ endpoint, integration, behaviour, events });
    if (behaviour === 'recovering')
      changing.push(letRecover(customer, { endpoint, receiving: one, store, replays }));
  }
  const [first, last] = endsOf(plan.rules);
  const hooks = { address, receiving };
  for (const [nth, [integration, live]] of [
    [first, changeIt] as const,
    [last, changeIt] as const,
    [random.pick([first, last]), disableIt] as const,
    [random.pick([first, last]), deleteIt] as const,
    [random.pick([first, last]), drillIt] as const,
  ].entries())
    changing.push(own(open(`endpoint ${nth + 1}`, integration), hooks, live));
  for (const one of changing) one.catch(noteFailure);
}

takeRole(
  {
    start,
    /** The storm is over: every receiver takes all deliveries. */
    async heal() {
      stop.abort();
      await Promise.allSettled(changing);
      for (const one of receiving.values()) one.behaviour = 'steady';
    },
  },
  () => ending.disposeAsync(),
);
