// The lines of each file of the ledger. Times ending in `Ms` are of the shared clock (`ledger.ts`); dates are ISO.
import type {
  BatchPushAnswer,
  DdsEntry,
  DeliveryAttempt,
  EventBody,
  PushAnswer,
  SyncRun,
} from '@integration-sync/contracts';
import type { Asset } from './cluster/nodes.ts';
import type { ClusterFault, FaultKind, Target } from './fault.ts';
import type { Profile } from './profile.ts';

export const plurals = ['suppliers', 'products', 'batches'] as const;
export type Plural = (typeof plurals)[number];

export type Item = Readonly<Record<string, unknown>>;

/** Integration and kind of records, which together name a listing. */
export interface Listed {
  integration: string;
  plural: Plural;
}

/** A push that is about to be sent. */
export interface BegunLine extends Listed {
  push: string;
  lane: string;
  items: readonly unknown[];
  drafting: boolean;
  /** Absent for a push. An item of an archiving or erasing has the fields that its record has already, and a status. */
  action?: 'archive' | 'erase' | undefined;
  /** The positions of items that are wrong on purpose, and how the reason against each begins. */
  wrong: readonly (readonly [position: number, reason: string])[];
  gateway: number;
  begunMs: number;
  begunAt: string;
}

/**
 * A status; or `refused`: the caller got no connection, so nothing was sent; `hung-up`: the caller hung up;
 * `broken`: the connection ended without an answer; `silent`: no answer within 35 s.
 */
export type PushOutcome = number | 'refused' | 'hung-up' | 'broken' | 'silent';

export type PushAnswered = PushAnswer & Partial<Pick<BatchPushAnswer, 'ddsCreated'>>;

export interface EndedLine {
  push: string;
  endedMs: number;
  outcome: PushOutcome;
  retryAfter?: string | undefined;
  syncId?: string | undefined;
  answer?: PushAnswered | undefined;
  /** The beginning of the body of an answer other than 200. */
  problem?: string | undefined;
}

export type Sighting = readonly [externalId: string, name: string, internalId: string, lastSyncedAt: string];

/** One page of a listing, read while the storm went on. */
export interface PageLine extends Listed {
  reader: string;
  /** The number of the reader's poll; null for a page outside of polls. */
  poll: number | null;
  begunMs: number;
  endedMs: number;
  /** Whether the page is the last of its poll. */
  isLast: boolean;
  entities: readonly Sighting[];
}

export interface EndpointLine {
  endpoint: string;
  integration: string;
  behaviour: string;
  events: readonly string[];
}

export interface DeliveryLine {
  endpoint: string;
  path: string;
  event: string;
  kind: string;
  /** When the request came, and when the receiver answered. */
  begunMs: number;
  atMs: number;
  /** What the receiver answered; 0 where it broke the connection. */
  status: number;
  genuine: boolean;
  /** Whether the replica of webhooks ended the request early: it released a partition, and its attempt log lacks the attempt. */
  unheard?: true;
  /** Whether the delivery is of a drill. */
  drill?: boolean;
  /** The index of the secret that made the plain signature, among those that the receiver had by then; -1: none. */
  signer: number;
  /** What the description of the messages does not allow in this delivery. */
  undescribed?: string | undefined;
  bodyHash: string;
}

/** The attempt log of an endpoint, read once the storm is over. */
export interface AttemptLogLine {
  endpoint: string;
  readMs: number;
  /** The newest entries, newest first; `total` counts all entries. */
  newest: readonly DeliveryAttempt[];
  total: number;
  /** Every entry of a failed attempt. */
  failed: readonly DeliveryAttempt[];
}

/** A request of a customer (`customers/`). */
export interface AskLine {
  by: string;
  integration: string;
  method: string;
  path: string;
  sent?: unknown;
  begunMs: number;
  endedMs: number;
  outcome: PushOutcome;
  /** The part of the answer that the ledger keeps. */
  answer?: unknown;
}

export interface FaultLine {
  target: Target | ClusterFault['target'];
  kind: FaultKind | ClusterFault['kind'];
  /** The pid of the struck process, or of the first of several; 0 for a rolling restart. */
  pid: number;
  atMs: number;
  /** When the fault ended: a stopped process went on, a killed process may start again, or a rolling restart was done. */
  untilMs: number;
  /** When the cluster was whole again. */
  wholeMs?: number;
}

/** For how long a stream had no leader: its leader was struck, or another node called for an election. */
export interface LeaderLine {
  asset: Asset;
  from: string;
  to: string;
  lostMs: number;
  foundMs: number;
}

export interface StoredLine extends Listed {
  externalId: string;
  internalId: string;
  /** The sync id of the last push that changed the record. */
  push: string;
  fields: Item;
}

export interface EventLine {
  sequence: number;
  id: string;
  subject: string;
  body: EventBody;
  bodyHash: string;
  /** When nats-server stored the message, by its clock, ISO. */
  storedAt: string;
}

const none = <Line>(): Line[] => [];

/** A ledger without lines. Its keys are the names of all files of a ledger. */
export const noLines = () => ({
  begun: none<BegunLine>(),
  ended: none<EndedLine>(),
  pages: none<PageLine>(),
  /** The newest runs, read right after an answer. */
  runsRead: none<{ integration: string; begunMs: number; runs: readonly SyncRun[] }>(),
  endpoints: none<EndpointLine>(),
  deliveries: none<DeliveryLine>(),
  asks: none<AskLine>(),
  /** Events whose fourth attempt failed, by the service's own attempt log. */
  givenUp: none<{ endpoint: string; event: string }>(),
  /** A disabled endpoint was enabled again, and its missed events were replayed. */
  replays: none<{ endpoint: string; atMs: number }>(),
  attempts: none<AttemptLogLine>(),
  faults: none<FaultLine>(),
  leaders: none<LeaderLine>(),
  memory: none<{ service: string; pid: number; atMs: number; mb: number }>(),
  /** The pages of the listings after the storm. */
  listed: none<Listed & { total: number; entities: readonly Sighting[] }>(),
  runs: none<{ integration: string; run: SyncRun }>(),
  drafts: none<{ integration: string; total: number; entry: DdsEntry }>(),
  stored: none<StoredLine>(),
  /** The runs that recovery has not finished, with the internal ids of their records without their prefix. */
  pending: none<{ syncId: string; hashes: readonly string[] }>(),
  events: none<EventLine>(),
  /** Failures of the storm itself, and not of the service. */
  notes: none<{ atMs: number; note: string }>(),
});

export type Lines = ReturnType<typeof noLines>;
export type LedgerName = keyof Lines;

/** All lines of a storm, and the limits that its profile sets. */
export interface Ledger extends Lines, Pick<Profile, 'within' | 'floor'> {
  seconds: number;
}
