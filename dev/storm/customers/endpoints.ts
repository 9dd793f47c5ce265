// Customers that change their endpoints while events occur: each registers one, three times concurrently with one
// Idempotency-Key, and then changes its kinds, url and secret; or disables, enables and replays; or deletes it.
import { setTimeout as wait } from 'node:timers/promises';
import type { DeliveryAttempt, Listing, RegisteredWebhook, Webhook } from '@integration-sync/contracts';
import type { Receiving } from '../receiver.ts';
import { keepAll, type Customer } from './customer.ts';

export interface Hooks {
  address: string;
  receiving: Map<string, Receiving>;
}

const pauseMs = [1_500, 4_000] as const;
const withRuns = ['sync.completed', 'batch.archived'];
const withoutRuns = ['batch.archived', 'webhook.disabled'];
/** How many rotations a customer makes: a webhook signs with four secrets at most, and rotations with lost answers count. */
const rotationsMax = 2;

let count = 0;

/** Registers one endpoint after the other until the storm is over; `live` says what the customer does with each. */
export async function own(customer: Customer, hooks: Hooks, live: Live): Promise<void> {
  while (!customer.stopped.aborted) {
    const owned = await registerThrice(customer, hooks);
    await customer.pause(pauseMs);
    await live(customer, owned);
  }
}

export type Live = (customer: Customer, owned: Owned) => Promise<void>;
type Owned = Awaited<ReturnType<typeof registerThrice>>;

export const changeIt: Live = async (customer, { path, change, move, secrets }) => {
  const { random, stopped } = customer;
  for (let nth = 0; !stopped.aborted; nth += 1) {
    if (random.chance(0.3)) await change({ url: move() });
    if (random.chance(0.3) && secrets.length <= rotationsMax) {
      const rotating = { method: 'POST', path: `${path}/rotate-secret` } as const;
      secrets.push(await customer.insist(rotating, ({ secret }: RegisteredWebhook) => secret));
    }
    await change({ events: nth % 2 === 0 ? withoutRuns : withRuns });
    await customer.pause(pauseMs);
  }
};

export const disableIt: Live = async (customer, { path, change }) => {
  while (!customer.stopped.aborted) {
    const { disabledAt: since } = await change({ active: false });
    await wait(pauseMs[0]);
    await change({ active: true });
    await customer.insist({ method: 'POST', path: `${path}/replay`, body: { since } }, keepAll);
    await customer.pause(pauseMs);
  }
};

const keepLogged = ({ entities }: Listing<DeliveryAttempt>) => ({
  logged: entities.map(({ eventId }) => eventId),
});

/** Begins drills of an endpoint whose receiver refuses their deliveries. A drill may come once a minute. */
export const drillIt: Live = async (customer, { path }) => {
  while (!customer.stopped.aborted) {
    await customer.insist({ method: 'POST', path: `${path}/drill` }, () => ({}));
    await customer.insist({ path }, ({ active, consecutiveFailures }: Webhook) => ({
      active,
      consecutiveFailures,
    }));
    await customer.insist({ path: `${path}/deliveries?limit=100` }, keepLogged);
    await customer.pause([61_000, 61_000]);
  }
};

export const deleteIt: Live = async (customer, { path }) => {
  await customer.insist({ method: 'DELETE', path }, keepAll);
  await customer.pause(pauseMs);
};

export const keepKeys = ({ id, secret }: RegisteredWebhook) => ({ id, secret });
const keepTime = ({ disabledAt }: Webhook) => ({ disabledAt });

async function registerThrice(customer: Customer, { address, receiving }: Hooks) {
  const { promise: registered, resolve } = Promise.withResolvers<void>();
  const secrets: string[] = [];
  const move = (): string => {
    const at = `/${customer.by.replace(' ', '-')}-${(count += 1)}`;
    receiving.set(at, { behaviour: 'steady', secrets, registered });
    return `${address}${at}`;
  };
  const body = { url: move(), events: withRuns };
  const headers = { 'idempotency-key': body.url };
  const register = () =>
    customer.insist({ method: 'POST', path: '/webhook-events', headers, body }, keepKeys);
  const [{ id, secret }] = await Promise.all([register(), register(), register()]);
  secrets.push(secret);
  resolve();
  const path = `/webhook-events/${id}`;
  const change = (to: object) => customer.insist({ method: 'PATCH', path, body: to }, keepTime);
  return { path, secrets, move, change };
}
