// npm run --silent token -- --integration acme --scope "integration:suppliers:write" --ttl 15m
// Prints an access token for the local stack and nothing else, so that a shell can take it into a variable.
import { parseArgs } from 'node:util';
import { allScopes } from '@integration-sync/contracts';
import { parseTtl } from './access-token.ts';
import { issueLocalToken } from './local-token.ts';
import { runWithUsage } from './process/words.ts';

const usage = `Usage: npm run --silent token -- [--integration acme] [--scope "integration:suppliers:write …"] [--ttl 15m]
All scopes unless --scope is given, one hour unless --ttl is; a ttl without a unit is in seconds.
`;

/** Throws for an unknown scope: the services would refuse such a token without saying why. */
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
    },
  });
  checkScopes(values.scope);
  const token = issueLocalToken({
    integration: values.integration,
    ttlSeconds: parseTtl(values.ttl),
    ...(values.scope === undefined ? {} : { scope: values.scope }),
  });
  process.stdout.write(`${token}\n`);
}

await runWithUsage(usage, printToken);
