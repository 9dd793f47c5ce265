// Reads this replica's partitions of BUNDLES and of DELIVERIES: as far ahead as it can take what it reads, as nats-server
// hands to no other replica what one has asked for.
import { bundlesStream } from '@integration-sync/contracts';
import { openReadingCheck } from '../streams/reading.ts';
import { deliveriesStream } from '../streams/streams.ts';
import { openPartitions, type Partitions, type PartitionsOptions } from './partitions.ts';

/** What is under way over all replicas bounds how many wait here (streams.ts). */
const bundlesAhead = { min: 8, max: 64 };
/** Parcels that nats-server sends ahead. Until this replica takes them it has no lease, so they must not wait long. */
const parcelsAhead = { min: 2, max: 8, perInFlight: 1 / 128 };
/** Of so many partitions each has as much ahead as one that is the whole; of more, less. */
const fullPartitions = { bundles: 4, parcels: 2 };

export interface ReadingOptions extends Omit<PartitionsOptions, 'bundlesAhead' | 'parcelsAhead'> {
  inFlightMax: number;
}

interface Reading {
  partitions: Partitions;
  /** Throws where this replica cannot read them. */
  checkReading: () => void;
}

export function startReading({ inFlightMax, ...options }: ReadingOptions): Reading {
  const { min, max, perInFlight } = parcelsAhead;
  const parcels = Math.max(min, Math.min(max, Math.floor(inFlightMax * perInFlight)));
  const partitions = openPartitions({
    ...options,
    bundlesAhead: (number) => shareOf(bundlesAhead.max, number / fullPartitions.bundles, bundlesAhead.min),
    parcelsAhead: (number) => shareOf(parcels, number / fullPartitions.parcels, min),
  });
  const { bundles, deliveries } = partitions;
  return {
    partitions,
    checkReading: openReadingCheck({ [bundlesStream]: bundles, [deliveriesStream]: deliveries }),
  };
}

const shareOf = (all: number, among: number, least: number): number =>
  Math.max(least, Math.floor(all / Math.max(1, among)));
