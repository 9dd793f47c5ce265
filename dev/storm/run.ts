// A storm from its beginning to its end: the stack comes up, callers and receivers begin, faults strike,
// everything goes on again and settles, and the collector writes it down.
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { startMember, type Member } from './members.ts';
import { hasPlan, writePlan, type StormPlan } from './plan.ts';
import { profiles, type ProfileName } from './profile.ts';

/** Parts that a storm for one breakage may leave out: faults, or waiting until everything is delivered. */
export const parts = ['faults', 'last deliveries'] as const;
export type Without = readonly (typeof parts)[number][];

export interface RunOptions {
  seed: number;
  seconds: number;
  profile: ProfileName;
  folder: string;
  without?: Without;
  say: (line: string) => void;
  signal: AbortSignal;
}

const progressEveryMs = 10_000;

export async function runStorm(options: RunOptions): Promise<void> {
  const { folder, say, signal, seconds, without = [] } = options;
  await clear(folder);
  await using company = new AsyncDisposableStack();
  const start = (name: string): Member => company.use(startMember(name, folder, say));
  /** Sends an order, unless the storm is to end. */
  const tell = async (member: Member, deed: string): Promise<unknown> => {
    signal.throwIfAborted();
    return untilAborted(member.tell(deed), signal);
  };

  const stack = start('stack');
  const { cluster, owners } = profiles[options.profile];
  const beginning =
    cluster !== undefined ? 'start-on-cluster' : owners !== undefined ? 'start-with-owners' : 'start';
  writePlan(folder, planOf(options, stack.pid, await tell(stack, beginning)));
  const [receivers, pollers] = [start('receivers'), start('pollers')];
  const [customers, clients] = [start('customers'), start('clients')];
  for (const member of [receivers, pollers, customers, clients]) await tell(member, 'start');
  const chaos = start('chaos');
  if (!without.includes('faults')) await tell(chaos, 'start');
  say(`the storm blows for ${seconds} s`);
  const end = performance.now() + seconds * 1_000;
  while (performance.now() < end) {
    const leftMs = end - performance.now();
    await wait(Math.min(progressEveryMs, Math.max(leftMs, 1)), undefined, { signal });
    const [items, faults] = [await tell(clients, 'count'), await tell(chaos, 'count')];
    say(
      `${Math.max(0, Math.round((end - performance.now()) / 1_000))} s left: ${String(items)} items accepted, ${String(faults)} faults`,
    );
  }

  await tell(chaos, 'stop');
  await tell(clients, 'stop');
  say('the storm is over; waiting until everything is settled');
  await tell(receivers, 'heal');
  await tell(stack, 'ready');
  const collector = start('collector');
  await tell(collector, 'settle');
  await tell(pollers, 'stop');
  await tell(customers, 'stop');
  if (!without.includes('last deliveries')) {
    say('waiting until everything is delivered');
    for (const note of listOf(await tell(collector, 'replay'))) say(note);
    await tell(collector, 'deliver');
  }
  say('writing down what is there');
  await tell(collector, 'collect');
}

const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(new Error('interrupted'));
  signal.addEventListener('abort', onAbort);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // The order may still fail when its process is ended; no code waits for it any more.
    work.catch(() => undefined);
  }
}

type Facts = Pick<StormPlan, 'gateways' | 'authSecret' | 'nats' | 'mongodb' | 'database'>;

function isFacts(value: unknown): value is Facts {
  return typeof value === 'object' && value !== null && 'gateways' in value && 'authSecret' in value;
}

function planOf({ seed, seconds, profile }: RunOptions, stackPid: number, facts: unknown): StormPlan {
  if (!isFacts(facts)) throw new TypeError('the stack does not say where it is');
  return { seed, seconds, profile, stackPid, ...facts };
}

/** The files of a former storm go; a folder of anything else stays. */
async function clear(folder: string): Promise<void> {
  if (!existsSync(folder) || readdirSync(folder).length === 0) return;
  if (!hasPlan(folder) && !readdirSync(folder).every((name) => ownNames.has(name))) {
    throw new RangeError(`${folder} is no folder of a storm: name another one, or an empty one`);
  }
  for (const name of ['ledger', 'logs', 'storm.json'])
    await rm(`${folder}/${name}`, { recursive: true, force: true });
}

/** The files that a storm may have left which ended before its plan was written. */
const ownNames = new Set([
  'ledger',
  'logs',
  'stack',
  'nats',
  'nats-nodes.json',
  'gateway-2.json',
  'gateway-2.json.pids',
  'owners.json',
  'owners.pids',
]);
