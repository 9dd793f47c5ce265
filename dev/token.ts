// npm run --silent token -- --integration acme --scope "integration:suppliers:write" --ttl 15m
// Prints an access token for the local stack and nothing else, so that a shell can take it into a variable.
import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { issueAccessToken, parseTtl } from './access-token.ts';

const usage = `Usage: npm run --silent token -- [--integration acme] [--scope "integration:suppliers:write …"] [--ttl 15m]
All scopes unless --scope is given, one hour unless --ttl is.
`;

interface Signing {
  secret: string;
  issuer?: string | undefined;
  audience?: string | undefined;
}

/** The running stack's own settings, unless the environment names others (as for a stack in containers). */
async function readSigning(): Promise<Signing> {
  const { AUTH_JWT_SECRET: secret, AUTH_ISSUER: issuer, AUTH_AUDIENCE: audience } = process.env;
  // An empty variable counts as absent, as it does for the services.
  if (secret) return { secret, issuer: issuer || undefined, audience: audience || undefined };
  const stack = await readStack();
  return { secret: stack.authSecret, issuer: stack.authIssuer, audience: stack.authAudience };
}

interface Stack {
  authSecret: string;
  authIssuer?: string;
  authAudience?: string;
}

async function readStack(): Promise<Stack> {
  try {
    const stack: Stack = JSON.parse(await readFile(new URL('../.local/stack.json', import.meta.url), 'utf8'));
    return stack;
  } catch (cause) {
    throw new Error('There is no local stack yet: run "npm start" first, or set AUTH_JWT_SECRET.', { cause });
  }
}

async function printToken(): Promise<void> {
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
  const { secret, issuer, audience } = await readSigning();
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
  await printToken();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  process.exitCode = 1;
}
