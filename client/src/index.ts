// The exports of the package: a client of the service for Node and browsers, which needs only fetch and WebCrypto.
export {
  openClient,
  openRecordClient,
  type Client,
  type ClientOptions,
  type RecordClient,
  type TokenAnswer,
} from './client.ts';
export { RequestFailed, Unreachable, type ProblemEntry } from './errors.ts';
export type { ExpectationsOfPushes } from './expectations.ts';
export type { FedEvent, FeedPoll, PollPage } from './feed.ts';
export type { Kind, ItemOf, ListedOf } from './kinds.ts';
export type { ListQuery, Poll, RunQuery } from './listing.ts';
export type { PlanOptions, PushOptions, PushOutcome } from './pushing.ts';
export type * from './types.ts';
export type { DeliveryQuery, Webhooks } from './webhooks.ts';
export {
  verifyWebhook,
  WebhookRefused,
  type ReceivedWebhook,
  type TestDelivery,
  type WebhookRefusal,
} from './verify-webhook.ts';
