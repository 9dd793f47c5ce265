// The types of answers that the console reads. Of contracts it imports types alone, so no code of contracts is bundled.
export type {
  DdsEntry,
  DeliveryAttempt,
  DrillResult,
  EventDelivery,
  Expectations,
  ListingEntity,
  PushAnswer,
  RegisteredWebhook,
  RotatedWebhook,
  ShownExpectation,
  SyncRun,
  SyncRunInFull,
  TestResult,
  DetailedWebhook as Webhook,
} from '@integration-sync/contracts';
import type { EventPage as AnyPage } from '@integration-sync/contracts';

/** An event of the feed. The console reads `data` by key; its type in contracts names no keys. */
export type FeedEvent = AnyPage['events'][number] & { data: Record<string, unknown> };

export type EventPage = Omit<AnyPage, 'events'> & { events: FeedEvent[] };

export interface Listing<Entity> {
  entities: Entity[];
  total: number;
  page: number;
  limit: number;
}

export interface TokenDescription {
  integrationId: string;
  scopes: string[];
  expiresAt: string | null;
}

export interface Readiness {
  status?: string;
  services?: Record<string, string>;
  notes?: { pointer: string; detail: string }[];
  errors?: { pointer: string; detail: string }[];
}

export interface RecordDetails {
  fields: Record<string, unknown>;
  createdBy: string;
  changedBy: string;
  changedAt?: string;
}

export interface DetailedRecord {
  externalId: string;
  internalId: string;
  name: string;
  syncStatus: string;
  lastSyncedAt: string;
  /** The fields of the record; absent for an erased record. */
  details?: RecordDetails;
}
