// Pushes items of files without checking their types: the service validates each item.
import { platform } from '#platform';
import type {
  RecordClient,
  ItemOf,
  Kind,
  PlanOptions,
  PushOptions,
  PushOutcome,
} from '@integration-sync/client';
import { utf8Bytes } from '../bytes.ts';
import { referenceOf } from '../kinds.ts';
import type { Item } from '../mapping/items.ts';
import type { SendItems } from './loading.ts';

const pushUnchecked = (
  client: RecordClient,
  kind: Kind,
  items: readonly Item[],
  options?: PushOptions,
): Promise<PushOutcome> => client.push(kind, unchecked(items), options);

export const planUnchecked = (
  client: Pick<RecordClient, 'plan'>,
  kind: Kind,
  items: readonly Item[],
  options?: PlanOptions,
): Promise<PushOutcome> => client.plan(kind, unchecked(items), options);

const unchecked = (items: readonly Item[]): readonly ItemOf<Kind>[] => (areTyped(items) ? items : []);

const areTyped = (_items: readonly Item[]): _items is readonly (Item & ItemOf<Kind>)[] => true;

export const pushItems =
  (client: RecordClient, autoCreateDDS: boolean): SendItems =>
  (kind, items, repeated) =>
    pushUnchecked(client, kind, items, {
      repeated,
      ...(kind === 'batches' && autoCreateDDS ? { autoCreateDDS } : {}),
    });

/** A copy of the text, which keeps no larger text in memory. */
const flat = (text: string): string => platform.utf8(utf8Bytes(text));

/** The ids that the rows of a plan would store, by kind. */
export class PlannedIds {
  readonly #ids = new Map<Kind, Set<string>>();

  add(kind: Kind, id: string): void {
    const ids = this.#ids.get(kind) ?? new Set();
    // The id is copied: V8 may keep it as a slice of a large text, which then stays in memory.
    this.#ids.set(kind, ids.add(flat(id)));
  }

  of(kind: Kind): ReadonlySet<string> | undefined {
    return this.#ids.get(kind);
  }
}

/** Plans items. Records that earlier rows of the plan would create count as existing. */
export const planItems =
  (client: Pick<RecordClient, 'plan'>, planned: PlannedIds): SendItems =>
  (kind, items, repeated) => {
    const reference = referenceOf[kind];
    const known = reference === undefined ? undefined : planned.of(reference.to);
    const options: PlanOptions = { repeated };
    if (reference !== undefined && known !== undefined) {
      const named = new Set(items.map((item) => item[reference.field]));
      options.assume = [...named].filter((id): id is string => typeof id === 'string' && known.has(id));
    }
    return planUnchecked(client, kind, items, options);
  };
