// What the callers of a storm do, one push after the other. On a private lane no other caller pushes the ids, and what an
// item points at is surely there or surely not. On a hot lane several callers push the same few ids at the same time, on a
// flood lane many times without a pause, and on a growing lane one caller pushes new records alone.
import { setTimeout as wait } from 'node:timers/promises';
import type { Random } from '../fuzz/random.ts';
import { isItem } from './check/fields.ts';
import { drawItem, spoilItem } from './items.ts';
import { plurals, type EndedLine, type Item, type Plural } from './lines.ts';
import { within, type Span } from './fault.ts';
import type { Profile } from './profile.ts';
import type { Batch, Pusher } from './pusher.ts';
import { erasedPrefix, openOwnIds, type OwnIds } from './own-ids.ts';

export interface LaneOptions {
  pusher: Pusher;
  random: Random;
  rules: Profile;
  stopped: AbortSignal;
  /** Counts accepted items. */
  count: (accepted: number) => void;
  /** Whether so many items were accepted that callers now push one item at a time. */
  isFull: () => boolean;
}

/** How often a caller repeats a push at most, as after an answer with Retry-After. */
const againMax = 2;
const againChance = 0.5;

export type Lane = (options: LaneOptions) => Promise<void>;

export const runPrivateLane: Lane = async (options) => {
  const { pusher, random } = options;
  const open = (letter: string): OwnIds => openOwnIds(`p-${letter}-${pusher.lane}`);
  const ownIds: OwnIdsByKind = { suppliers: open('s'), products: open('p'), batches: open('b'), erased: [] };
  await runLane(options, async () => {
    const plural = drawPlural(random, ownIds);
    if (random.chance(eraseChance)) await eraseOne(options, ownIds.erased);
    const name = pusher.nextName();
    const batch = drawArchived(random, plural, ownIds) ?? drawPrivate(options, plural, name, ownIds);
    for (let [again, as] = [0, name]; ; [again, as] = [again + 1, pusher.nextName()]) {
      const ended = await pusher.push(as, batch);
      noteEnd(ownIds[plural], batch, ended);
      if (again === againMax || !mayComeAgain(options, ended)) return ended;
      await pause(options, ended);
    }
  });
};

const eraseChance = 0.05;

/** Pushes and erases a supplier that no other push names, and repeats each request until it is answered 200. */
async function eraseOne(options: LaneOptions, erased: string[]): Promise<void> {
  const { pusher, random } = options;
  const externalId = `${erasedPrefix}${pusher.lane}-${erased.length}`;
  for (const action of [undefined, 'erase'] as const) {
    for (let outcome; outcome !== 200 && !options.stopped.aborted;) {
      const name = pusher.nextName();
      const draft = { externalId, name: `${name}/0`, reference: null, whole: true };
      const item = action === undefined ? drawItem(random, 'suppliers', draft) : { externalId };
      const ended = await pusher.push(name, { plural: 'suppliers', items: [item], action });
      ({ outcome } = ended);
      if (outcome !== 200) await pause(options, ended);
    }
  }
  erased.push(externalId);
}

const archiveChance = 0.08;

/** Records that this lane's pushes have made, and whose fields are known. */
function drawArchived(random: Random, plural: Plural, ownIds: OwnIdsByKind): Batch | undefined {
  const ids = ownIds[plural];
  if (ids.acceptedCount() === 0 || !random.chance(archiveChance)) return undefined;
  const drawn = new Set(Array.from({ length: 1 + random.integer(10) }, () => ids.drawAccepted(random)));
  const items = [...drawn].map((id) => ids.lastAccepted(id)).filter((item) => item !== undefined);
  if (items.length === 0) return undefined;
  const archived = items.map((item) => Object.assign({}, item, { syncStatus: 'ARCHIVED' }));
  return { plural, items: archived, action: 'archive' };
}

/** The suppliers that the lane has erased are no targets of references any more. */
type OwnIdsByKind = Record<Plural, OwnIds> & { erased: string[] };

const mayComeAgain = ({ random, stopped }: LaneOptions, { outcome }: EndedLine): boolean =>
  outcome !== 200 && !stopped.aborted && random.chance(againChance);

function noteEnd(ids: OwnIds, { items, action }: Batch, { outcome, answer }: EndedLine): void {
  for (const [position, item] of items.entries()) {
    if (!isItem(item) || typeof item['externalId'] !== 'string') continue;
    const id = item['externalId'];
    const status = answer?.records[position]?.status;
    if (outcome !== 200) ids.cutOff(id);
    else if (action === undefined && status !== undefined && status !== 'ERROR') ids.accepted(id, item);
  }
}

function drawPlural(random: Random, ownIds: OwnIdsByKind): Plural {
  const drawn = random.pick(plurals);
  if (drawn === 'products' && ownIds.suppliers.acceptedCount() === 0) return 'suppliers';
  return drawn === 'batches' && ownIds.products.acceptedCount() === 0 ? 'suppliers' : drawn;
}

function drawPrivate(
  { random, rules, isFull }: LaneOptions,
  plural: Plural,
  name: string,
  ownIds: OwnIdsByKind,
): Batch {
  const ids = ownIds[plural];
  const count = isFull() ? 1 : within(random, random.pick(rules.sizes));
  const items: unknown[] = [];
  const wrong: [number, string][] = [];
  while (items.length < count) {
    const externalId = random.chance(0.5) ? ids.drawKnown(random) : ids.fresh();
    const idle = random.chance(0.15) ? ids.lastAccepted(externalId) : undefined;
    const place = items.length;
    const draft = { externalId, name: `${name}/${place}`, whole: random.chance(0.5) };
    const item =
      idle ?? drawItem(random, plural, { ...draft, reference: drawReference(random, plural, ownIds) });
    const spoilt = random.chance(0.02) ? spoilItem(random, plural, item) : undefined;
    if (spoilt !== undefined) wrong.push([place, spoilt.reason]);
    items.push(spoilt === undefined ? item : spoilt.item);
  }
  return { plural, items, wrong, drafting: plural === 'batches' && random.chance(0.4) };
}

function drawReference(random: Random, plural: Plural, ownIds: OwnIdsByKind): string | null {
  if (plural === 'suppliers' || (plural === 'products' && random.chance(0.3))) return null;
  if (random.chance(0.02)) return `missing-${random.integer(1_000)}`;
  const erased = plural === 'products' && random.chance(0.05) ? ownIds.erased.at(-1) : undefined;
  if (erased !== undefined) return erased;
  return (plural === 'products' ? ownIds.suppliers : ownIds.products).drawAccepted(random);
}

/** How many ids a hot lane has: so few that concurrent pushes often name the same records. */
const sharedIds = 24;

/** Pushes some of the ids that begin with this letter; several lanes push them. */
async function pushShared({ pusher, random, isFull }: LaneOptions, letter: string): Promise<EndedLine> {
  const plural = random.pick(plurals);
  const name = pusher.nextName();
  const least = random.integer(sharedIds);
  const count = isFull() ? 1 : 1 + random.integer(sharedIds);
  const items = Array.from({ length: count }, (_, place): Item => {
    const externalId = `${letter}-${plural.slice(0, 1)}-${(least + place) % sharedIds}`;
    const parent = plural === 'products' ? 's' : 'p';
    const reference = plural === 'suppliers' ? null : `${letter}-${parent}-${random.integer(sharedIds)}`;
    return drawItem(random, plural, { externalId, name: `${name}/${place}`, reference, whole: true });
  });
  return pusher.push(name, { plural, items, drafting: plural === 'batches' && random.chance(0.3) });
}

export const runHotLane: Lane = (options) => runLane(options, () => pushShared(options, 'h'));

const burst = 8;
const burstPauseMs = [1_500, 4_000] as const;

export const runFloodLane: Lane = async (options) => {
  for (let nth = 1; !options.stopped.aborted; nth += 1) {
    const ended = await pushShared(options, 'f');
    if (isAway(ended)) await pause(options, ended);
    if (nth % burst === 0) await rest(options, burstPauseMs);
  }
};

/** The items of each push. A poll that shows two pushes has over 500 matches: the listing walks in order from the first match. */
const grownAtOnce = 300;

export const runGrowingLane: Lane = async (options) => {
  const { pusher, random, stopped, isFull } = options;
  while (!stopped.aborted && !isFull()) {
    const pushes = [pusher.nextName(), pusher.nextName()].map((name) => {
      const items = Array.from({ length: grownAtOnce }, (_, place): Item => {
        const draft = { externalId: `p-s-${name}-${place}`, name: `${name}/${place}`, reference: null };
        return drawItem(random, 'suppliers', { ...draft, whole: false });
      });
      return pusher.push(name, { plural: 'suppliers', items });
    });
    await Promise.all(pushes);
    await rest(options, burstPauseMs);
  }
};

async function runLane(options: LaneOptions, turn: () => Promise<EndedLine>): Promise<void> {
  while (!options.stopped.aborted) {
    const ended = await turn();
    options.count((ended.answer?.created ?? 0) + (ended.answer?.updated ?? 0));
    await pause(options, ended);
  }
}

/** How long a caller pauses after a 503 or a refused connection. */
const awayMs = [400, 1_500] as const;
/** The pause between pushes of one item. */
const trickleMs = [800, 2_000] as const;

const isAway = ({ outcome }: EndedLine): boolean => outcome === 503 || outcome === 'refused';

const pause = (options: LaneOptions, ended: EndedLine): Promise<void> =>
  rest(options, isAway(ended) ? awayMs : options.isFull() ? trickleMs : options.rules.pauseMs);

const rest = ({ random, stopped: signal }: LaneOptions, span: Span): Promise<void> =>
  wait(within(random, span), undefined, { signal }).catch(() => undefined);
