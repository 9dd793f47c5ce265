// Whether some possible past of a private record explains its events and its final fields.
//
// The pushes of a private record came one after the other. An acknowledged push took effect, exactly once and before its answer. A
// push that was answered 503 or 504, or was hung up, may have taken effect or not: but, if the promise is kept, not after a later
// push was acknowledged. So the record has a few possible pasts. Each predicts every event and the final fields, and one must fit.
import { applyItems, changedFields, worldText, type World } from './fields.ts';
import type { RecordHistory, Write } from './history.ts';

export interface SeenEvent {
  /** The id of the event's push; undefined if no caller got an answer with the sync id of the event's run. */
  push: string | undefined;
  created: boolean;
  /** The names of the changed fields, sorted. */
  changed: readonly string[];
}

export interface PrivateRecord extends Pick<RecordHistory, 'plural' | 'writes'> {
  events: readonly SeenEvent[];
  /** What the database holds in the end. */
  final: World | undefined;
}

/** What the search for an order of pushes that explains all answers and events lets pass, although it breaks a promise. */
export interface Leniency {
  /** Whether cut-off pushes may take effect after later pushes were acknowledged. */
  late?: boolean;
  /** Whether changes by cut-off pushes may lack events. */
  untold?: boolean;
  /** Whether events may be left over that no push explains. */
  extra?: boolean;
  /** Whether events of acknowledged pushes, and their statuses, are not compared. */
  deaf?: boolean;
  /** Whether the final fields are not compared. */
  blind?: boolean;
}

interface State {
  next: number;
  world: World | undefined;
  /** The indexes of cut-off pushes that have not taken effect. */
  open: readonly number[];
  /** Events of runs that no answer named, as far as no push explains them yet. */
  left: readonly SeenEvent[];
}

/** The error beyond `statesMax` states, which should not happen: callers stop using an id that was cut off a few times. */
export class TooManyPasts extends Error {
  override readonly name = 'TooManyPasts';
}

const statesMax = 20_000;

export function isExplained(record: PrivateRecord, leniency: Leniency = {}): boolean {
  const begin: State = {
    next: 0,
    world: undefined,
    open: [],
    left: record.events.filter(({ push }) => push === undefined),
  };
  const seen = new Set<string>();
  const todo = [begin];
  while (todo.length > 0) {
    const state = todo.pop() ?? begin;
    const name = nameOf(state);
    if (seen.has(name)) continue;
    seen.add(name);
    if (seen.size > statesMax) throw new TooManyPasts();
    if (state.next === record.writes.length && isEnd(record, state, leniency)) return true;
    todo.push(...statesAfter(record, state, leniency));
  }
  return false;
}

function statesAfter(record: PrivateRecord, state: State, leniency: Leniency): State[] {
  const applied = state.open.flatMap((place) => applyOpen(record, state, place, leniency));
  const write = record.writes[state.next];
  if (write === undefined) return applied;
  const next = state.next + 1;
  if (!write.acknowledged) return [...applied, { ...state, next, open: [...state.open, state.next] }];
  const world = applyItems(record.plural, state.world, write.items);
  if (leniency.deaf !== true && !fitsAnswer(record, write, state.world, world)) return applied;
  return [...applied, { ...state, next, world, open: leniency.late === true ? state.open : [] }];
}

/** The states after a cut-off push takes effect now. */
function applyOpen(record: PrivateRecord, state: State, place: number, leniency: Leniency): State[] {
  const write = record.writes[place];
  if (write === undefined) return [];
  const world = applyItems(record.plural, state.world, write.items);
  const open = state.open.filter((one) => one !== place);
  const expected = eventOf(state.world, world);
  if (expected === undefined) return [{ ...state, world, open }];
  const at = state.left.findIndex((event) => isSame(event, expected));
  const told = at === -1 ? [] : [{ ...state, world, open, left: state.left.toSpliced(at, 1) }];
  return leniency.untold === true ? [...told, { ...state, world, open }] : told;
}

type Expected = Omit<SeenEvent, 'push'>;

function eventOf(before: World | undefined, after: World): Expected | undefined {
  if (before === undefined) return { created: true, changed: [] };
  const changed = changedFields(before, after);
  return changed.length === 0 ? undefined : { created: false, changed };
}

const isSame = (one: Expected, other: Expected): boolean =>
  one.created === other.created && one.changed.join() === other.changed.join();

function fitsAnswer(record: PrivateRecord, write: Write, before: World | undefined, after: World): boolean {
  const [first, ...others] = write.statuses;
  if (first !== (before === undefined ? 'CREATED' : 'UPDATED') || others.includes('CREATED')) return false;
  const expected = eventOf(before, after);
  const told = record.events.filter(({ push }) => push === write.push.id);
  if (expected === undefined) return told.length === 0;
  const [event] = told;
  return event !== undefined && told.length === 1 && isSame(event, expected);
}

function isEnd({ final }: PrivateRecord, { world, left }: State, { blind, extra }: Leniency): boolean {
  const asExpected = blind === true || worldText(world) === worldText(final);
  return asExpected && (extra === true || left.length === 0);
}

const nameOf = ({ next, world, open, left }: State): string =>
  `${next} ${open.join()} ${left.map(({ created, changed }) => `${created}${changed.join()}`).join(' ')} ${worldText(world)}`;
