// The headers of answers, each described once.
import { basePath } from '@integration-sync/contracts';
import {
  announcedSyncIdExample,
  syncedAtExample,
  webhookExample,
} from '@integration-sync/contracts/examples';
import type { JsonObject } from './model.ts';

const text = (description: string, example: string): JsonObject => ({
  description,
  schema: { type: 'string' },
  example,
});
const always = (header: JsonObject): JsonObject => ({ ...header, required: true });
const count = (description: string, example: number): JsonObject => ({
  description,
  schema: { type: 'integer', minimum: 0 },
  example,
});

export const requestIdExample = '0b7f1c52-8d3e-4a6f-9b21-5c7d9e013a44';

export const describeHeaders = (): Record<string, JsonObject> => ({
  'X-Request-Id': always(
    text(
      'Identifies this request in our logs: your own X-Request-Id, or one that was made for it.',
      requestIdExample,
    ),
  ),
  'X-Sync-Id': always(text('Names this push among the sync runs and in its events.', announcedSyncIdExample)),
  'X-Next-Since': always(
    text(
      'The `since` or `changedSince` of your next poll: with it nothing is missed and little is seen twice. Take it from the first page.',
      syncedAtExample,
    ),
  ),
  Link: text(
    'The next page, if there is one, relative to this one.',
    '</api/v1/integration/suppliers?cursor=b3JkZXI&limit=50>; rel="next"',
  ),
  Location: always(text('Where the new webhook is.', `${basePath}/webhook-events/${webhookExample.id}`)),
  'X-Dropped-Headers': text(
    'The names of `headers` that the webhook no longer has, because its new `url` has another origin.',
    'Authorization, X-Tenant',
  ),
  'WWW-Authenticate': always(
    text('What is wrong with the credentials, as RFC 6750 writes it.', 'Bearer error="invalid_token"'),
  ),
  Accept: text('The content type that the body must have.', 'application/json'),
  'Accept-Encoding': text('The content coding that the body may have.', 'identity'),
  'Preference-Applied': text('The preference of `Prefer` that was heeded, if any.', 'handling=strict'),
  'Retry-After': always(count('Seconds to wait before trying again.', 1)),
  'RateLimit-Limit': count('Requests per window, where a limit is configured.', 600),
  'RateLimit-Remaining': count('Requests left in this window, where a limit is configured.', 599),
  'RateLimit-Reset': count('Seconds until the window ends, where a limit is configured.', 60),
});

export const rateHeaders = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const;

/** The headers that any answer may have once token and scope are checked. */
export const checkedHeaders = ['Preference-Applied', ...rateHeaders] as const;
