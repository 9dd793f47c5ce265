// Makes access tokens for the local stack. In production, an identity provider makes them.
import { allScopes, integrationPattern } from '@integration-sync/contracts';
import { signingSecretOf } from '@integration-sync/gateway/tokens/auth-settings';
import { createSigner } from 'fast-jwt';

export interface AccessTokenOptions {
  /** The value of AUTH_JWT_SECRET; the first secret signs if there are two. */
  secret: string;
  integration: string;
  /** The scopes of the token, separated by spaces; every scope unless given. */
  scope?: string;
  /** The lifetime of the token; one hour unless given. */
  ttlSeconds?: number;
  issuer?: string | undefined;
  audience?: string | undefined;
}

const ttlSecondsDefault = 60 * 60;
const ttlSecondsMax = 24 * 60 * 60;

export function issueAccessToken(options: AccessTokenOptions): string {
  const { secret, integration, scope = allScopes.join(' '), ttlSeconds = ttlSecondsDefault } = options;
  if (!new RegExp(integrationPattern).test(integration)) {
    throw new RangeError(
      `an integration is 1 to 64 letters, digits, _ or -, not ${JSON.stringify(integration)}`,
    );
  }
  if (ttlSeconds > ttlSecondsMax)
    throw new RangeError('the gateway takes no token that lives for more than 24 h');
  const sign = createSigner({
    key: signingSecretOf(secret),
    algorithm: 'HS256',
    expiresIn: ttlSeconds * 1_000,
    ...(options.issuer === undefined ? {} : { iss: options.issuer }),
    ...(options.audience === undefined ? {} : { aud: options.audience }),
  });
  return sign({ integration_id: integration, scope });
}

const secondsPer = { s: 1, m: 60, h: 60 * 60, d: 24 * 60 * 60 } as const;

/** Reads a lifetime: `15m`, `2h`, `90s`, `1d`, or a plain number of seconds. */
export function parseTtl(text: string): number {
  const { count, unit = 's' } = /^(?<count>[1-9]\d{0,6})(?<unit>[smhd])?$/.exec(text)?.groups ?? {};
  if (count === undefined)
    throw new RangeError(`a ttl looks like 15m, 2h or 90s, not ${JSON.stringify(text)}`);
  return Number(count) * (Object.entries(secondsPer).find(([name]) => name === unit)?.[1] ?? 1);
}
