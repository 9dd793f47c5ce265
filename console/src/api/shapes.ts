// The shapes of the interface that the console reads. They are the contracts' own, and no code of the contracts comes along.
export type {
  DeliveryAttempt,
  ListingEntity,
  PushAnswer,
  RegisteredWebhook,
  RotatedWebhook,
  TestResult,
} from '@integration-sync/contracts';
import type { DeliveryAttempt, Webhook as BareWebhook } from '@integration-sync/contracts';

export type { SyncRun, SyncRunInFull } from '@integration-sync/contracts';

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
  /** Absent of an erased record. */
  details?: RecordDetails;
}

export interface Webhook extends BareWebhook {
  details?: {
    description: string | null;
    headerNames: string[];
    recover: boolean;
    inFlightMax: number;
  };
}

export interface FeedEvent {
  id: string;
  event: string;
  timestamp: string;
  integrationId: string;
  data: Record<string, unknown>;
}

export interface FeedPage {
  events: FeedEvent[];
  next: string;
  more: boolean;
}

export interface Delivery {
  eventId: string;
  event: string;
  /** As it was sent; null once the stream lacks it. */
  body: string | null;
  attempts: (DeliveryAttempt & { responseBody: string | null })[];
}
