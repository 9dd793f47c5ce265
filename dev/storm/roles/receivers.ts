// The receivers of webhooks, each with a path of its own, and the customers who change their endpoints.
import { openCompany } from '../customers/customer.ts';
import { changeIt, deleteIt, disableIt, drillIt, keepKeys, own } from '../customers/endpoints.ts';
import { letRecover } from '../customers/recovering.ts';
import { planEndpoints } from '../endpoints.ts';
import { openLedgerFile } from '../ledger.ts';
import { endsOf } from '../profile.ts';
import { startReceiver, type Receiving } from '../receiver.ts';
import { folder, noteFailure, stop, takeRole } from '../role.ts';

const endpoints = openLedgerFile(folder, 'endpoints');
const replays = openLedgerFile(folder, 'replays');
const receiving = new Map<string, Receiving>();
const ending = new AsyncDisposableStack();
const changing: Promise<void>[] = [];

async function start(): Promise<void> {
  const { plan, random, store, open } = await openCompany(900, openLedgerFile(folder, 'asks'));
  ending.use(store);
  const address = await startReceiver(openLedgerFile(folder, 'deliveries'), receiving, random);
  for (const [nth, { integration, behaviour, events, settings }] of planEndpoints(plan.rules).entries()) {
    const { promise: registered, resolve } = Promise.withResolvers<void>();
    const one: Receiving = { behaviour, secrets: [], registered };
    receiving.set(`/${nth}`, one);
    const customer = open(behaviour, integration);
    const body = { url: `${address}/${nth}`, events, ...settings };
    const asked = { method: 'POST', path: '/webhook-events', body } as const;
    const { id: endpoint, secret } = await customer.insist(asked, keepKeys);
    one.secrets.push(secret);
    resolve();
    endpoints.write({ endpoint, integration, behaviour, events });
    if (behaviour === 'recovering')
      changing.push(letRecover(customer, { endpoint, receiving: one, store, replays }));
  }
  const ends = endsOf(plan.rules);
  const lives = [changeIt, changeIt, disableIt, deleteIt, drillIt];
  for (const [nth, live] of lives.entries()) {
    const customer = open(`endpoint ${nth + 1}`, ends[nth] ?? random.pick(ends));
    changing.push(own(customer, { address, receiving }, live));
  }
  for (const one of changing) one.catch(noteFailure);
}

takeRole(
  {
    start,
    /** Makes every receiver accept all deliveries, because the storm is over. */
    async heal() {
      stop.abort();
      await Promise.allSettled(changing);
      for (const one of receiving.values()) one.behaviour = 'steady';
    },
  },
  () => ending.disposeAsync(),
);
