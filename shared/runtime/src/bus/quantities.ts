// How much a stream keeps: how many copies, for how long, how many bytes. A replica that was started without a setting must not
// shrink a stream to the default, because lost messages and copies do not come back. So an existing stream only grows; a smaller
// value is reported and not applied. Pure.
//
//   the setting    asks for more                          asks for less
//   ─────────────  ─────────────────────────────────────  ─────────────────────────────────────────────
//   is set         the stream gets it                     nothing is changed, unless `mayShrink`
//   is left out    nothing is changed                     nothing is changed
import type { StreamConfig } from '@nats-io/jetstream';

const quantities = ['replicas', 'maxAgeMs', 'bytesMax', 'messagesPerSubjectMax'] as const;
export type Quantity = (typeof quantities)[number];

export interface SettingOfQuantity {
  name: string;
  isSet: boolean;
}

export interface Quantities extends Partial<Record<Quantity, number>> {
  /** The setting behind each quantity. A quantity that has none is applied as if its setting were set. */
  settings?: Partial<Record<Quantity, SettingOfQuantity>>;
  mayShrink?: boolean;
}

/** A quantity of a stream as nats-server has it (`found`) and as this process wants it. Infinity: no limit. */
export interface QuantityChange {
  quantity: Quantity;
  wanted: number;
  found: number;
}

/** A difference that is not applied: the stream keeps the value that it has. */
export interface Difference extends QuantityChange {
  setting: SettingOfQuantity | undefined;
}

export interface Comparison {
  /** Quantities that `ensureStream` changes. */
  changes: QuantityChange[];
  /** Quantities that differ and that `ensureStream` does not change. */
  left: Difference[];
}

const nanosPerMs = 1_000_000;

type Found = Pick<StreamConfig, 'num_replicas' | 'max_age' | 'max_bytes' | 'max_msgs_per_subject'>;

/** The quantities with which a new stream is created. */
export const quantitiesOf = (spec: Quantities): Found => ({
  num_replicas: spec.replicas ?? 1,
  max_age: (spec.maxAgeMs ?? 0) * nanosPerMs,
  max_bytes: spec.bytesMax || -1,
  max_msgs_per_subject: spec.messagesPerSubjectMax ?? -1,
});

const fields = {
  replicas: 'num_replicas',
  maxAgeMs: 'max_age',
  bytesMax: 'max_bytes',
  messagesPerSubjectMax: 'max_msgs_per_subject',
} as const satisfies Record<Quantity, keyof Found>;

export function compareQuantities(spec: Quantities, config: Found): Comparison {
  const made = quantitiesOf(spec);
  const comparison: Comparison = { changes: [], left: [] };
  for (const quantity of quantities) {
    // A quantity that the spec leaves out stays as it is: an operator may have set it.
    if (spec[quantity] === undefined) continue;
    const [wanted, found] = [quantityIn(made, quantity), quantityIn(config, quantity)];
    if (wanted === found) continue;
    const setting = spec.settings?.[quantity];
    const mayChange = setting?.isSet !== false && (wanted > found || spec.mayShrink === true);
    if (mayChange) comparison.changes.push({ quantity, wanted, found });
    else comparison.left.push({ quantity, wanted, found, setting });
  }
  return comparison;
}

/** The changes as fields of nats-server's stream configuration. */
export function changedConfig(spec: Quantities, changes: readonly QuantityChange[]): Partial<Found> {
  const made = quantitiesOf(spec);
  return Object.fromEntries(changes.map(({ quantity }) => [fields[quantity], made[fields[quantity]]]));
}

/** The quantity in copies, milliseconds, bytes or messages; Infinity: no limit. */
export function quantityIn(config: Found, quantity: Quantity): number {
  const value = amount(config[fields[quantity]]);
  return quantity === 'maxAgeMs' ? value / nanosPerMs : value;
}

/** nats-server writes "no limit" as 0 or as -1. */
export const amount = (value: number): number => (value <= 0 ? Infinity : value);

const dayMs = 24 * 60 * 60 * 1000;

const words: Record<Quantity, (value: number) => string> = {
  replicas: (value) => (value === 1 ? '1 copy' : `${value} copies`),
  maxAgeMs: (value) => (value % dayMs === 0 ? `${value / dayMs} days` : `${value / 1000} s`),
  bytesMax: (value) => `${value} bytes`,
  messagesPerSubjectMax: (value) => `${value} messages a subject`,
};

export const quantityInWords = (quantity: Quantity, value: number): string =>
  value === Infinity ? 'no limit' : words[quantity](value);
