// Draws what happens in a world, and lets it happen.
import type { Store } from '@integration-sync/runtime/store';
import { array, boolean, constant, constantFrom, nat, oneof, option, record, tuple } from 'fast-check';
import { broken, type Troubles } from './promises.ts';
import { openWorld, type Answer, type World } from './world.ts';

const kinds = {
  'an operation runs': 8,
  'an answer of MongoDB is lost': 2,
  'a broadcast arrives': 2,
  'a broadcast is lost': 1,
  'the receiver answers 204': 5,
  'the receiver answers 500': 9,
  'the receiver answers 410': 1,
  'an attempt is not sent': 1,
  'time passes': 2,
  'a second passes': 3,
  'the next attempt is due': 4,
  'events occur': 4,
  'a caller disables': 1,
  'a caller enables': 2,
  'a caller changes the url': 1,
  'a replica is cut off from NATS': 1,
  'a replica is cut off from MongoDB': 1,
  'a replica is heard again': 2,
  'a replica stops': 1,
  'three seconds pass': 2,
} as const;
type Kind = keyof typeof kinds;

const kind = oneof(
  ...Object.entries(kinds).map(([name, weight]) => ({ weight, arbitrary: constant(name as Kind) })),
);
/** What happens to the operations and broadcasts that wait after a choice. */
const after = oneof(
  { weight: 6, arbitrary: constant('in order' as const) },
  { weight: 3, arbitrary: constant('later' as const) },
  { weight: 1, arbitrary: constant('answers lost' as const) },
);

export const choices = record({
  inFlightMax: option(constantFrom(1, 2, 12), { nil: undefined }),
  calm: boolean(),
  isDead: constantFrom(false, false, true),
  steps: array(tuple(kind, nat(99), after), { minLength: 20, maxLength: 90, size: 'max' }),
});

export interface Choices {
  inFlightMax: number | undefined;
  calm: boolean;
  /** The receiver fails all the while. */
  isDead: boolean;
  steps: (readonly [what: Kind, which: number, after: 'in order' | 'later' | 'answers lost'])[];
}

const troubling: ReadonlySet<Kind> = new Set([
  'an answer of MongoDB is lost',
  'a broadcast is lost',
  'a replica is cut off from NATS',
  'a replica is cut off from MongoDB',
] as const);

export interface Played {
  /** The promises that were broken. */
  broken: string[];
  /** All that happened, without the names that a world draws for itself. */
  history: string[];
}

export async function play(store: Store, { inFlightMax, calm, isDead, steps }: Choices): Promise<Played> {
  await using world = await openWorld({ store, inFlightMax });
  const troubles: Troubles = { cuts: 0, lostAnswers: 0, stops: 0 };
  await world.push(3);
  for (const [what, which, then] of steps) {
    if (calm && troubling.has(what)) continue;
    world.begin();
    await happen(
      world,
      isDead && what === 'the receiver answers 204' ? 'the receiver answers 500' : what,
      which,
      troubles,
    );
    if (then === 'answers lost' && !calm) await loseAnswers(world, troubles);
    if (then === 'in order') await world.flow();
  }
  const left = await settle(world);
  return { broken: [...left, ...broken(world, troubles)], history: historyOf(world) };
}

/** Runs what replicas have sent to MongoDB, and breaks their connections before the answers come. */
async function loseAnswers(world: World, troubles: Troubles): Promise<void> {
  for (const one of world.gates.waiting.slice()) {
    if (one.client.isCut || one.client.name.startsWith('caller')) continue;
    troubles.lostAnswers += 1;
    await world.run(one, true);
  }
}

async function happen(world: World, what: Kind, which: number, troubles: Troubles): Promise<void> {
  const { gates, wire, attempts, replicas } = world;
  const pick = <T>(all: readonly T[]): T | undefined => all[which % all.length];
  const answer = async (how: Answer): Promise<void> => {
    const open = attempts.filter(({ endedAt, replica }) => endedAt === undefined && !replica.isGone);
    pick(open)?.end(how);
    await world.quiet();
  };
  const operation = pick(gates.waiting.filter(({ client }) => !client.isCut));
  const replica = pick(replicas.filter(({ isGone }) => !isGone));
  const [url] = [`https://${['one', 'two'][which % 2]}.example/`];
  const acts: Record<Kind, () => Promise<unknown> | undefined> = {
    'an operation runs': () => operation && world.run(operation),
    'an answer of MongoDB is lost': () => {
      if (operation?.client.name.startsWith('caller') !== false) return undefined;
      troubles.lostAnswers += 1;
      return world.run(operation, true);
    },
    'a broadcast arrives': async () => {
      const one = wire.underway.splice(which % Math.max(wire.underway.length, 1), 1)[0];
      one?.arrive();
      await world.quiet();
    },
    'a broadcast is lost': async () =>
      void wire.underway.splice(which % Math.max(wire.underway.length, 1), 1),
    'the receiver answers 204': () => answer('succeeded'),
    'the receiver answers 500': () => answer('failed'),
    'the receiver answers 410': () => (which % 3 === 0 ? answer('gone') : answer('failed')),
    'an attempt is not sent': () => answer('not sent'),
    'time passes': () => world.pass(100),
    'a second passes': () => world.pass(1_000),
    'three seconds pass': () => world.pass(3_000),
    'the next attempt is due': () => world.pass([1_000, 5_000, 30_000][which % 3] ?? 0),
    'events occur': () => world.push(1 + (which % 4)),
    'a caller disables': async () => replica && world.ask(replica, what, { active: false }),
    'a caller enables': async () => replica && world.ask(replica, what, { active: true }),
    'a caller changes the url': async () => replica && world.ask(replica, what, { url }),
    'a replica is cut off from NATS': async () => {
      if (replica === undefined) return;
      troubles.cuts += 1;
      replica.link.isCut = true;
    },
    'a replica is cut off from MongoDB': async () => {
      if (replica === undefined) return;
      troubles.cuts += 1;
      replica.client.isCut = true;
    },
    'a replica is heard again': async () => replica && heal(world, replica),
    'a replica stops': async () => {
      if (replica === undefined || troubles.stops > 0) return;
      troubles.stops += 1;
      void stopped(replica);
    },
  };
  await acts[what]();
  await world.quiet();
}

async function stopped(replica: World['replicas'][number]): Promise<void> {
  await replica.stop();
  replica.isGone = true;
}

function heal(world: World, replica: World['replicas'][number]): void {
  replica.client.isCut = false;
  if (replica.link.isCut) world.wire.heal(replica.link);
}

const settleSteps = 90;
/** The seconds for which nothing may happen before a world counts as settled: the longest wait for an attempt. */
const stillFor = 3;

/** Heals all, has the receiver answer 204 from now on, and enables the endpoint. Says what does not end. */
async function settle(world: World): Promise<string[]> {
  const { replicas, attempts } = world;
  for (const one of replicas) if (!one.isGone) heal(world, one);
  const answerAll = (): void => {
    for (const one of attempts) if (one.endedAt === undefined && !one.replica.isGone) one.end('succeeded');
  };
  let still = 0;
  for (let seconds = 0; seconds < settleSteps && still < stillFor; seconds += 1) {
    world.begin();
    const before = attempts.length;
    answerAll();
    await world.flow();
    await world.pass(1_000);
    await world.flow();
    const isStill =
      before === attempts.length && attempts.every((one) => one.endedAt !== undefined || one.replica.isGone);
    still = isStill && (await isAtRest(world)) ? still + 1 : 0;
  }
  if (still >= stillFor) return [];
  return [
    `after ${settleSteps} s the offsets still say that the endpoint is behind: ${JSON.stringify(await world.offsets.findOne({ _id: world.integration }))}`,
  ];
}

/** Whether a living owner has delivered every event, so that no offset is left. */
async function isAtRest({
  offsets,
  integration,
  endpoints,
  endpointId,
  owner,
  replicas,
}: World): Promise<boolean> {
  const [stored, endpoint, name] = await Promise.all([
    offsets.findOne({ _id: integration }),
    endpoints.findOne({ _id: endpointId }),
    owner(),
  ]);
  const isOwned = replicas.some((one) => one.name === name && !one.isGone);
  return isOwned && (stored?.isBehind !== true || endpoint?.active !== true);
}

const historyOf = ({ attempts, stored, asked }: World): string[] => [
  ...attempts.map(
    ({ replica, eventId, number, begunAt, endedAt, answer, url }) =>
      `${begunAt}–${endedAt ?? ''} ${replica.name} ${eventId} ${number} ${answer ?? 'in flight'} ${url}`,
  ),
  ...stored.map(
    ({ at, by, endpoint }) =>
      `${at} ${by} stored ${JSON.stringify({ ...endpoint, secret: undefined, unannounced: undefined })}`,
  ),
  ...asked.map((one) => JSON.stringify(one)),
];
