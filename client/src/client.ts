// The client of one integration: its calls share one key or token, and one pacer, which keeps to the rate limit.
import { archive } from './archiving.ts';
import type { Send } from './call.ts';
import {
  openAuthorization,
  openGiven,
  type Authorization,
  type Credentials,
  type GivenCredentials,
} from './credentials.ts';
import { openExchange, type ExchangeOptions } from './exchange.ts';
import { openExpectations, type ExpectationsOfPushes } from './expectations.ts';
import type { Kind } from './kinds.ts';
import { openListing, openRecordListing, type Listing, type RecordListing } from './listing.ts';
import { openPushing, type Pushing } from './pushing.ts';
import type { ArchiveAnswer } from './types.ts';
import { openWebhooks, type Webhooks } from './webhooks.ts';

interface CallOptions extends ExchangeOptions {
  /** Whether the service refuses unknown fields and parameters, or ignores them. True by default. */
  strict?: boolean;
}

export type ClientOptions = CallOptions & Credentials;

export interface RecordClient extends Pushing, RecordListing {
  /** The integration, the scopes and the expiry of the key or token that the client uses. */
  token(signal?: AbortSignal): Promise<TokenAnswer>;
  archive(kind: Kind, externalIds: readonly string[], signal?: AbortSignal): Promise<ArchiveAnswer>;
}

export interface Client extends RecordClient, Listing {
  expectations: ExpectationsOfPushes;
  webhooks: Webhooks;
}

export interface TokenAnswer {
  integrationId: string;
  scopes: string[];
  /** When the token or key expires; null for a key that does not expire. */
  expiresAt: string | null;
}

const basePath = '/api/v1/integration/';

export function openClient(options: ClientOptions): Client {
  const calls = openCalls(options, (post) => openAuthorization(options, post));
  const { send } = calls;
  return {
    ...recordsOf(calls),
    ...openListing(send),
    expectations: openExpectations(send),
    webhooks: openWebhooks(send),
  };
}

/** The calls about records alone, with a given key or token, for a web page that fetches no more code than it needs. */
export const openRecordClient = (options: CallOptions & GivenCredentials): RecordClient =>
  recordsOf(openCalls(options, () => openGiven(options)));

function openCalls(
  options: CallOptions,
  authorize: (post: Send) => Authorization,
): Record<'exchange' | 'send', Send> {
  const exchange = openExchange(options, authorize);
  const prefer = options.strict === false ? {} : { prefer: 'handling=strict' };
  const send: Send = (call) =>
    exchange({
      ...call,
      path: basePath + call.path,
      headers: {
        ...call.headers,
        ...prefer,
        ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      },
    });
  return { exchange, send };
}

function recordsOf({ exchange, send }: Record<'exchange' | 'send', Send>): RecordClient {
  return {
    ...openPushing(send),
    ...openRecordListing(send),
    async token(signal) {
      return (await exchange<TokenAnswer>({ method: 'GET', path: '/token', signal })).body;
    },
    archive: (kind, externalIds, signal) => archive(send, kind, externalIds, signal),
  };
}
