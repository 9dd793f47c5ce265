// How hard a storm blows: how many callers there are, what they may push, and how often a fault strikes.
import type { ClusterFault, FaultRules, PlannedFault, Span } from './fault.ts';

export interface Profile extends FaultRules {
  integrations: readonly string[];
  /** Callers of one integration. Each pushes records with externalIds that no other caller pushes. */
  privateLanes: number;
  /** Callers of an integration that push the same few ids at the same time. */
  hotLanes: number;
  /** Spans for the number of items in a push of a private caller; each push draws one span. */
  sizes: readonly [Span, ...Span[]];
  /** Whether some receivers fail or are slow; `many`: a dozen of each integration. */
  receivers: 'mixed' | 'steady' | 'many';
  /** The pause between an answer and the caller's next push. */
  pauseMs: Span;
  /** Whether callers push some records again and again without a pause, and one caller pushes only new records. */
  isFlooded: boolean;
  /** Accepted items after which callers push one item at a time. */
  itemsMax: number;
  /** How soon the system must go on after a fault of a cluster. */
  within: {
    /** How long pushes may fail after one node has died. */
    pushesMs: number;
    /** How soon events come to the stream, once it has a leader. */
    eventsMs: number;
    /** How soon deliveries come, once their streams have leaders. */
    deliveriesMs: number;
  };
  /** Whether the check waits until no write of a cut-off push can arrive any more. */
  waitsForLateWrites: boolean;
  /** The least rates per second at which the service must accept and deliver, over the whole storm. */
  floor: {
    /** Acknowledged pushes of suppliers, of products and of batches, for each kind alone. */
    pushes: number;
    acknowledgedItems: number;
    events: number;
    /** Deliveries that were answered 2xx. */
    deliveries: number;
  };
}

/** The integration of the one caller that pushes only new records. */
export const growing = 'storm-growing';

export const integrationsOf = ({ integrations, isFlooded }: Profile): readonly string[] =>
  isFlooded ? [...integrations, growing] : integrations;

/** The two integrations of most customers: a large storm has no more customers than a small storm. */
export const endsOf = ({ integrations }: Profile): readonly [string, string] => [
  integrations[0] ?? '',
  integrations.at(-1) ?? '',
];

const [one, few, many] = [[1, 1] as const, [2, 20] as const, [101, 500] as const];

const usual: Profile = {
  integrations: ['storm-a', 'storm-b', 'storm-c'],
  privateLanes: 3,
  hotLanes: 2,
  sizes: [one, one, few, few, [21, 100], many, many, many],
  receivers: 'mixed',
  pauseMs: [20, 250],
  isFlooded: true,
  itemsMax: 250_000,
  faultEveryMs: [1_500, 4_500],
  stopMs: [1_000, 20_000],
  behindWays: { catalog: 1, batches: 1, webhooks: 1 },
  within: { pushesMs: 8_000, eventsMs: 5_000, deliveriesMs: 10_000 },
  waitsForLateWrites: false,
  // Each minimum is at most a tenth of the usual figure of a storm.
  floor: { pushes: 0.1, acknowledgedItems: 20, events: 20, deliveries: 20 },
};

/** A fault of each kind, and a catalog replica that is frozen for longer than the gateway waits for it. */
const briefScript: readonly PlannedFault[] = [
  { afterMs: 1_500, target: 'catalog', nth: 0, kind: 'stop', forMs: 8_000 },
  { afterMs: 1_500, target: 'batches', nth: 1, kind: 'kill', forMs: 0 },
  { afterMs: 1_500, target: 'webhooks', nth: 0, kind: 'kill', forMs: 0 },
  { afterMs: 1_500, target: 'gateway-2', nth: 0, kind: 'kill', forMs: 0 },
  { afterMs: 3_500, target: 'catalog', nth: 1, kind: 'kill', forMs: 0 },
  { afterMs: 1_500, target: 'batches', nth: 0, kind: 'end', forMs: 0 },
  { afterMs: 1_500, target: 'nats', nth: 0, kind: 'kill', forMs: 0 },
];

const brief: Profile = {
  ...usual,
  integrations: ['storm-a', 'storm-b'],
  privateLanes: 1,
  sizes: [one, few, few, [21, 100]],
  itemsMax: 2_500,
  // This storm shares the machine with other tests. With faster callers, the last faults would find only pushes of one item.
  pauseMs: [150, 900],
  behindWays: {},
  script: briefScript,
  floor: { pushes: 0.1, acknowledgedItems: 5, events: 5, deliveries: 5 },
};

/** Nodes stay away for longer than a cluster needs to elect another leader. */
const clusterScript: readonly ClusterFault[] = [
  { target: 'events-leader', kind: 'kill', forMs: 8_000 },
  { target: 'deliver-leader', kind: 'stop', forMs: 12_000 },
  { target: 'meta-leader', kind: 'kill', forMs: 8_000 },
  { target: 'two-nodes', kind: 'kill', forMs: 5_000 },
  { target: 'events-leader', kind: 'stop', forMs: 12_000 },
  { target: 'deliver-leader', kind: 'kill', forMs: 8_000 },
  { target: 'meta-leader', kind: 'stop', forMs: 12_000 },
  { target: 'all-nodes', kind: 'kill', forMs: 5_000 },
];

/** Some 15 small pushes a second leave two processors time beside three nodes: so any delay is due to the cluster. */
const cluster: Profile = {
  ...usual,
  behindWays: {},
  isFlooded: false,
  sizes: [one, [2, 5]],
  receivers: 'steady',
  pauseMs: [700, 1_300],
  cluster: clusterScript,
  floor: { pushes: 0.1, acknowledgedItems: 1, events: 1, deliveries: 1 },
};

/** Up to 50 small pushes a second, some 30 on two processors, while an operator ends every service and every node in turn. */
const rolls: Profile = {
  ...cluster,
  pauseMs: [180, 340],
  cluster: [
    { target: 'services', kind: 'roll', forMs: 0 },
    { target: 'nodes', kind: 'roll', forMs: 0 },
    { target: 'copies', kind: 'roll', forMs: 8_000 },
  ],
};

/** Partitions move between three replicas of webhooks, which are killed, frozen and cut off from their engines. */
const owners: Profile = {
  ...usual,
  isFlooded: false,
  integrations: Array.from({ length: 40 }, (_, n) => `storm-${n}`),
  privateLanes: 1,
  hotLanes: 0,
  sizes: [one, few, [21, 40]],
  receivers: 'many',
  pauseMs: [2_000, 6_000],
  faultEveryMs: [2_000, 6_000],
  stopMs: [1_000, 60_000],
  behindWays: { webhooks: 2 },
  isOfOwners: true,
  floor: { pushes: 0.1, acknowledgedItems: 5, events: 5, deliveries: 20 },
};

export const profiles = {
  usual,
  late: { ...usual, waitsForLateWrites: true },
  brief,
  /** For deliberate bugs: some need more than 500 matches of a poll. */
  breakages: { ...brief, sizes: usual.sizes, pauseMs: [60, 500], itemsMax: 6_000 },
  cluster,
  'cluster-rolls': rolls,
  owners,
  'cluster-brief': {
    ...cluster,
    // This storm shares the machine with other tests.
    pauseMs: [400, 700],
    integrations: ['storm-a', 'storm-b'],
    privateLanes: 2,
    within: { pushesMs: 20_000, eventsMs: 15_000, deliveriesMs: 30_000 },
    cluster: [
      { target: 'events-leader', kind: 'kill', forMs: 3_000 },
      { target: 'services', kind: 'roll', forMs: 0 },
    ],
  },
} satisfies Readonly<Record<string, Profile>>;

export type ProfileName = keyof typeof profiles;
export const isProfileName = (name: string): name is ProfileName => Object.hasOwn(profiles, name);
