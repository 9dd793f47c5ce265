// The settings of webhooks.
import { baseSettings, storeSettings } from '@integration-sync/runtime/config';
import { type Static, Type } from 'typebox';
import { parseKeys } from './secrets/vault.ts';
import { parseAllowList } from './sending/egress-guard.ts';

export const WebhooksConfig = Type.Object({
  ...baseSettings,
  ...storeSettings,
  WEBHOOK_SECRET_KEY: Type.String({
    description:
      'Keys that encrypt stored signing secrets and headers: `id:key`, the key as base64 of 32 bytes. Several keys are ' +
      'separated by commas: the first encrypts, each decrypts what it encrypted. `id:lost` stands for a lost key.',
    check: (text: string) => parseKeys(text) !== undefined,
    expected: '`id:key`, or several separated by commas, each id once and each key the base64 of 32 bytes',
    secret: true,
  }),
  WEBHOOK_EGRESS_ALLOW: Type.String({
    description:
      'Addresses that may be delivered to although they are private, with any port and plain http too: CIDRs ' +
      'separated by commas. Metadata services of clouds stay refused.',
    default: '',
    check: (text: string) => parseAllowList(text) !== undefined,
    expected: 'CIDRs separated by commas, such as 10.0.0.0/8,127.0.0.1/32',
  }),
  WEBHOOK_EGRESS_PROXY: Type.Optional(
    Type.String({
      description: 'HTTP proxy through which deliveries leave (by CONNECT, to the checked address).',
      pattern: '^http://\\S+$',
      expected: 'an address such as http://proxy.internal:3128',
      file: true,
    }),
  ),
  WEBHOOK_IN_FLIGHT_MAX: Type.Integer({
    description: 'How many deliveries one process has in flight at most, over all endpoints.',
    default: 1_024,
    minimum: 1,
    maximum: 10_000,
  }),
  WEBHOOK_ENDPOINTS_MAX: Type.Integer({
    description: 'How many endpoints one integration may have.',
    default: 1_000,
    minimum: 1,
    maximum: 100_000,
  }),
  WEBHOOK_ENDPOINTS_REMEMBERED: Type.Integer({
    description: 'How many endpoints one process caches for sending, some 2 KB each.',
    default: 20_000,
    minimum: 100,
    maximum: 10_000_000,
  }),
  WEBHOOK_SUBSCRIPTIONS_REMEMBERED: Type.Integer({
    description:
      'How many endpoint queues one process has in memory: set it to about the number of all endpoints.',
    default: 100_000,
    minimum: 100,
    maximum: 10_000_000,
  }),
  WEBHOOK_HOSTS_CONNECTED: Type.Integer({
    description: 'To how many addresses of receivers one process keeps connections.',
    default: 2_000,
    minimum: 10,
    maximum: 100_000,
  }),
  WEBHOOK_TRACEPARENT: Type.Boolean({
    description:
      'Whether a delivery carries `traceparent`, whose sampling flag then decides for traces of receivers as well.',
    default: false,
  }),
  PLATFORM_NAME: Type.String({
    description: 'The name before the hyphen in the User-Agent of deliveries.',
    default: 'IntegrationSync',
    pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~]+$",
    expected: 'a name of letters, digits, dots and underscores',
  }),
});
export type WebhooksConfig = Static<typeof WebhooksConfig>;
