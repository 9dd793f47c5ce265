// npm run --silent token -- --integration acme --scope "integration:suppliers:write" --ttl 15m
// Prints an access token for the local stack and nothing else, so that a shell can take it into a variable.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { allScopes } from '@integration-sync/contracts';
import { issueAccessToken, parseTtl } from './access-token.ts';
import { explainMisuse } from './process/words.ts';
import { readFacts } from './stack/facts.ts';

const usage = `Usage: npm run --silent token -- [--integration acme] [--scope "integration:suppliers:write …"] [--ttl 15m]
All scopes unless --scope is given, one hour unless --ttl is; a ttl without a unit is in seconds.
`;

interface Signing {
  secret: string;
  issuer?: string | undefined;
  audience?: string | undefined;
}

/** The running stack's own settings, unless the environment names others (as for a stack in containers). */
function readSigning(): Signing {
  const { AUTH_JWT_SECRET: secret, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = process.env;
  // An empty variable counts as absent, as it does for the services.
  if (secret) return { secret, issuer: issuer || undefined, audience: audience || undefined };
  const facts = readFacts(fileURLToPath(new URL('../.local', import.meta.url)));
  if (facts === undefined) {
    throw new Error('There is no local stack yet: run "npm start" first, or set AUTH_JWT_SECRET.');
  }
  if (facts.authSecret === undefined) {
    throw new Error('The stack takes tokens of another issuer, and only that one can make them.');
  }
  return { secret: facts.authSecret, issuer: facts.authIssuer, audience: facts.authAudience };
}

/** A token with a scope that there is not would be good for nothing, and no message would say so. */
function checkScopes(scope = ''): void {
  const known: readonly string[] = allScopes;
  const unknown = scope.split(' ').filter((word) => word !== '' && !known.includes(word));
  if (unknown.length > 0)
    throw new RangeError(`--scope: there is no ${unknown.join(', ')}; there are ${known.join(', ')}`);
}

function printToken(): void {
  const { values } = parseArgs({
    options: {
      integration: { type: 'string', default: 'acme' },
      scope: { type: 'string' },
      ttl: { type: 'string', default: '1h' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  checkScopes(values.scope);
  const { secret, issuer, audience } = readSigning();
  const token = issueAccessToken({
    secret,
    integration: values.integration,
    ttlSeconds: parseTtl(values.ttl),
    ...(values.scope === undefined ? {} : { scope: values.scope }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(audience === undefined ? {} : { audience }),
  });
  process.stdout.write(`${token}\n`);
}

try {
  printToken();
} catch (error) {
  process.stderr.write(explainMisuse(error, usage));
  process.exitCode = 1;
}
