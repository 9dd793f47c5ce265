// Makes access tokens for the running stack, for commands in other terminals.
import { issueAccessToken, type AccessTokenOptions } from './access-token.ts';
import { readLocalFacts } from './stack/facts.ts';

type Signing = Pick<AccessTokenOptions, 'secret' | 'issuer' | 'audience'>;

export function issueLocalToken(
  options: Pick<AccessTokenOptions, 'integration' | 'scope' | 'ttlSeconds'>,
): string {
  return issueAccessToken({ ...options, ...readSigning() });
}

/** The running stack's own settings, unless the environment names other settings (as for a stack in containers). */
function readSigning(): Signing {
  const { AUTH_JWT_SECRET: secret, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = process.env;
  // An empty variable counts as absent, as it does for the services.
  if (secret) return { secret, issuer: issuer || undefined, audience: audience || undefined };
  const facts = readLocalFacts();
  if (facts === undefined) {
    throw new Error('There is no local stack yet: run "npm start" first, or set AUTH_JWT_SECRET.');
  }
  if (facts.authSecret === undefined) {
    throw new Error('The local stack takes only tokens of another issuer, so this command can make none.');
  }
  return { secret: facts.authSecret, issuer: facts.authIssuer, audience: facts.authAudience };
}
