// The settings of the gateway.
import { limits } from '@integration-sync/contracts';
import { baseSettings, natsSettings, tracingSettings } from '@integration-sync/runtime/config';
import { Type, type Static } from 'typebox';
import { authSettings, someAuth } from './tokens/auth-settings.ts';

export const GatewayConfig = Type.Object(
  {
    GATEWAY_HOST: Type.String({
      description: 'Address on which the public interface is served. In a container: 0.0.0.0.',
      default: '127.0.0.1',
    }),
    GATEWAY_PORT: Type.Integer({
      description: 'Port of the public interface. 0 takes any free port.',
      default: 8080,
      minimum: 0,
      maximum: 65_535,
    }),
    PUBLIC_BASE_PATH: Type.String({
      description:
        'The prefix that a proxy takes off the path, such as `/sync`; `Link` and `Location` begin with it.',
      default: '',
      maxLength: 255,
      pattern: String.raw`^(/(?!\.{1,2}(/|$))[\w.~-]+)*$`,
      expected: 'a path such as /sync, without a / at its end',
    }),
    CONSOLE: Type.Enum(['on', 'off'], {
      description: 'Whether the gateway serves the page `/console`. `on` for the local stack.',
      default: 'off',
    }),
    ...authSettings,
    AUTH_CLIENTS_FILE: Type.Optional(
      Type.String({
        description:
          'File of the clients and the hashes of their secrets ([Keys](keys.md)), beside AUTH_JWT_SECRET or AUTH_JWKS_URL, or alone. The gateway reads the file every 5 s.',
      }),
    ),
    BODY_BYTES_MAX: Type.Integer({
      description:
        'The most bytes that the body of a request may have. `max_payload` of NATS bounds bodies too.',
      default: limits.bodyBytesDefault,
      minimum: 1_024,
      maximum: 64 * 1024 * 1024,
    }),
    REQUEST_TIMEOUT_MS: Type.Integer({
      description: 'How long a client may take to send a whole request before the gateway answers 408.',
      default: 30_000,
      minimum: 1_000,
      maximum: 600_000,
    }),
    RATE_LIMIT_REQUESTS: Type.Integer({
      description:
        'Requests of one integration that each replica of the gateway takes within `RATE_LIMIT_WINDOW_SECONDS`. 0: no limit.',
      default: 0,
      minimum: 0,
    }),
    RATE_LIMIT_WINDOW_SECONDS: Type.Integer({
      description: 'The window of the rate limit.',
      default: 60,
      minimum: 1,
      maximum: 86_400,
    }),
    ...natsSettings,
    LOG_LEVEL: baseSettings.LOG_LEVEL,
    BUILD_REVISION: baseSettings.BUILD_REVISION,
    METRICS_HOST: baseSettings.METRICS_HOST,
    METRICS_PORT: baseSettings.METRICS_PORT,
    ...tracingSettings,
  },
  someAuth,
);
export type GatewayConfig = Static<typeof GatewayConfig>;
