// A model of what catalog does with suppliers, in the plainest code; random items; and what catalog really stored and
// announced, in the words of the model.
import * as fc from 'fast-check';
import { eventually } from './eventually.ts';
import type { Caller, World } from './sync.ts';

export interface Item {
  externalId?: string;
  name?: string | number;
  code?: string | null;
  country?: string | null;
  certifications?: string[] | null;
}

export type Stored = Map<string, string>;

const statusField = 'syncStatus';

/** A field's value as text. */
export const text = (value: unknown): string => JSON.stringify(value);

/** The expected records and events of one integration. */
export class Model {
  readonly records = new Map<string, Stored>();
  readonly events: string[] = [];

  /** Archives or erases records, and returns the status of each id. */
  changeStatus(action: 'archive' | 'erase', ids: readonly string[]): string[] {
    const status = action === 'archive' ? 'ARCHIVED' : 'ERASED';
    let [done, failed] = [0, 0];
    const statuses = ids.map((id, index) => {
      const stored = this.records.get(id);
      const isErased = stored?.get(statusField) === text('ERASED');
      if (stored === undefined || ids.indexOf(id) < index || (isErased && action === 'archive')) {
        failed += 1;
        return 'ERROR';
      }
      done += 1;
      if (stored.get(statusField) !== text(status)) {
        if (action === 'erase') stored.clear();
        stored.set(statusField, text(status));
        this.events.push(action === 'archive' ? `supplier.archived ${id}` : 'supplier.erased ');
      }
      return status;
    });
    this.events.push(`sync.completed 0 ${done} ${failed}`);
    return statuses;
  }

  push(items: readonly Item[]) {
    const before = new Map([...this.records].map(([id, stored]) => [id, new Map(stored)]));
    const statuses = items.map((item) => this.#apply(item));
    const touched = new Set(
      items.flatMap((item, index) => (statuses[index] === 'ERROR' ? [] : [item.externalId ?? ''])),
    );
    for (const id of touched) {
      const old = before.get(id);
      const now = this.records.get(id) ?? new Map<string, string>();
      const changed = ['name', 'code', 'country', 'certifications', statusField].filter(
        (name) => old?.get(name) !== now.get(name),
      );
      if (old === undefined) this.events.push(`supplier.created ${id}`);
      else if (changed.length > 0) this.events.push(`supplier.updated ${id} ${changed.join()}`);
    }
    const count = (status: string): number => statuses.filter((one) => one === status).length;
    this.events.push(`sync.completed ${count('CREATED')} ${count('UPDATED')} ${count('ERROR')}`);
    return { statuses, created: count('CREATED'), updated: count('UPDATED') };
  }

  #apply({ externalId, ...fields }: Item): 'CREATED' | 'UPDATED' | 'ERROR' {
    if (externalId === undefined || typeof fields.name !== 'string' || fields.country === 'XX')
      return 'ERROR';
    const known = this.records.get(externalId);
    const stored = known ?? new Map<string, string>();
    for (const [name, value] of Object.entries(fields)) {
      if (value === null || value === '') stored.delete(name);
      else stored.set(name, text(name === 'country' ? String(value).toUpperCase() : value));
    }
    stored.delete(statusField);
    this.records.set(externalId, stored);
    return known === undefined ? 'CREATED' : 'UPDATED';
  }
}

const some = <T>(...values: T[]) => fc.constantFrom(...values);
export const item: fc.Arbitrary<Item> = fc.record(
  {
    externalId: some('a', 'b', 'c', 'A', '__proto__', '🌲'),
    name: fc.oneof(
      { weight: 9, arbitrary: some<string | number>('N', 'M') },
      { weight: 1, arbitrary: some<string | number>(7) },
    ),
    code: some('1', '2', '', null),
    country: fc.oneof(
      { weight: 5, arbitrary: some('se', 'SE', 'de', null) },
      { weight: 1, arbitrary: some('XX') },
    ),
    certifications: some(null, [], ['x'], ['x', 'y'], ['y', 'x']),
  },
  { requiredKeys: ['name'] },
);

/** The stored suppliers by externalId; an erased one has none, and stands under its internal id. */
export async function storedBy(world: World, caller: Caller): Promise<Map<string, Stored>> {
  const documents = await world.store
    .collection<{
      _id: string;
      integration: string;
      externalId: string;
      fields: Record<string, unknown>;
    }>('suppliers')
    .find({ integration: caller.integration })
    .sort({ order: 1 })
    .toArray();
  return new Map(
    documents.map(({ _id, externalId, fields }) => [
      externalId === '' ? _id : externalId,
      new Map(Object.entries(fields).map(([name, value]) => [name, text(value)])),
    ]),
  );
}

/** Waits until `count` pushes are announced; returns all events, in the words of the model. */
export async function toldTo(caller: Caller, count: number): Promise<string[]> {
  const events = await eventually(
    () => caller.events(),
    (all) => all.filter(({ body }) => body.event === 'sync.completed').length === count,
  );
  return events.map(({ body: { event, data } }) => {
    if ('syncId' in data) return `${event} ${data.created} ${data.updated} ${data.failed}`;
    if ('externalId' in data && 'changedFields' in data)
      return `${event} ${data.externalId} ${data.changedFields.join()}`;
    return 'externalId' in data ? `${event} ${data.externalId}` : event;
  });
}
