// The settings of the gateway.
import { limits } from '@integration-sync/contracts';
import { baseSettings, isHttpAddress, natsSettings, tracingSettings } from '@integration-sync/runtime/config';
import { Type, type Static } from 'typebox';
import { clientsSettings } from './clients/settings.ts';

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
        'What callers see before `/api`, where a proxy takes a prefix such as `/sync` off the path. `Link` and `Location` begin with it.',
      default: '',
      maxLength: 255,
      pattern: String.raw`^(/(?!\.{1,2}(/|$))[\w.~-]+)*$`,
      expected: 'a path such as /sync, without a / at its end',
    }),
    AUTH_JWT_SECRET: Type.Optional(
      Type.String({
        description: 'Shared secret of tokens signed with HS256. Either this or AUTH_JWKS_URL.',
        minLength: 32,
        // A public key is no secret: any caller that has it could sign tokens with it.
        pattern: '^(?!\\s*-----BEGIN)',
        expected: 'at least 32 bytes, and no key in PEM (public keys are taken from AUTH_JWKS_URL)',
        secret: true,
      }),
    ),
    AUTH_JWKS_URL: Type.Optional(
      Type.String({
        description:
          'Where the public keys of tokens signed with RS, PS, ES or EdDSA algorithms are. Use https beyond your own network.',
        check: isHttpAddress,
        expected:
          'an address such as https://login.example.com/.well-known/jwks.json, without user and password',
      }),
    ),
    AUTH_ISSUER: Type.Optional(
      Type.String({ description: 'The only `iss` that tokens may have. Not checked unless set.' }),
    ),
    AUTH_AUDIENCE: Type.Optional(
      Type.String({ description: 'What `aud` of a token must be or contain. Not checked unless set.' }),
    ),
    ...clientsSettings,
    BODY_BYTES_MAX: Type.Integer({
      description: 'How large the body of a request may be. NATS’s own limit (`max_payload`) bounds it too.',
      default: limits.bodyBytesDefault,
      minimum: 1_024,
      maximum: 64 * 1024 * 1024,
    }),
    REQUEST_TIMEOUT_MS: Type.Integer({
      description: 'How long a client may take to send a whole request before it is cut off with 408.',
      default: 30_000,
      minimum: 1_000,
      maximum: 600_000,
    }),
    RATE_LIMIT_REQUESTS: Type.Integer({
      description:
        'Requests that one integration may make to one replica of the gateway within the window. 0: no limit.',
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
  {
    // With both, a caller could sign a token with the public key as the shared secret.
    oneOf: [
      { required: ['AUTH_JWT_SECRET'] },
      { required: ['AUTH_JWKS_URL'] },
      {
        required: ['AUTH_CLIENTS_FILE'],
        not: { anyOf: [{ required: ['AUTH_JWT_SECRET'] }, { required: ['AUTH_JWKS_URL'] }] },
      },
    ],
    expected:
      'exactly one of AUTH_JWT_SECRET and AUTH_JWKS_URL, or AUTH_CLIENTS_FILE, alone or beside either',
  },
);
export type GatewayConfig = Static<typeof GatewayConfig>;
