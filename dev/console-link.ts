// npm run console -- --integration acme --ttl 1h
// Prints an address that opens the console of the running stack. The token is in its fragment, which no browser sends, and the
// page takes it out of there at once.
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { parseTtl } from './access-token.ts';
import { issueLocalToken } from './local-token.ts';
import { explainMisuse } from './process/words.ts';
import { readFacts } from './stack/facts.ts';
import { repositoryFolder } from './stack/services.ts';

const usage = `Usage: npm run --silent console -- [--integration acme] [--ttl 1h]
Prints an address that opens the console with every scope, for one hour unless --ttl says otherwise.
GATEWAY_URL names another gateway than that of the running stack, AUTH_JWT_SECRET its secret.
`;

function printLink(): void {
  const { values } = parseArgs({
    options: {
      integration: { type: 'string', default: 'acme' },
      ttl: { type: 'string', default: '1h' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    return;
  }
  const gateway = process.env['GATEWAY_URL'] ?? readFacts(join(repositoryFolder, '.local'))?.gateway;
  if (gateway === undefined) {
    throw new Error('There is no local stack yet: run "npm start" first, or set GATEWAY_URL.');
  }
  const token = issueLocalToken({ integration: values.integration, ttlSeconds: parseTtl(values.ttl) });
  process.stdout.write(`${gateway.replace(/\/$/, '')}/console#token=${token}\n`);
}

try {
  printLink();
} catch (error) {
  process.stderr.write(explainMisuse(error, usage));
  process.exitCode = 1;
}
