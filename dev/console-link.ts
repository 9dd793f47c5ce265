// npm run console -- --integration acme --ttl 1h
// Prints an address that opens the console of the running stack, and waits until it has been opened (console-door.ts).
import { parseArgs } from 'node:util';
import { parseTtl } from './access-token.ts';
import { openDoor } from './console-door.ts';
import { issueLocalToken } from './local-token.ts';
import { runWithUsage } from './process/words.ts';
import { readLocalFacts } from './stack/facts.ts';

const usage = `Usage: npm run --silent console -- [--integration acme] [--ttl 1h]
Prints an address that opens the console once, with every scope for one hour unless --ttl says otherwise, and ends when it
has been opened.
GATEWAY_URL names another gateway than that of the running stack, AUTH_JWT_SECRET its secret.
`;

/** The hosts whose console follows a link, as in console/src/here.ts. */
const ofThisMachine = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

async function printLink(): Promise<void> {
  const { values } = parseArgs({
    options: {
      integration: { type: 'string', default: 'acme' },
      ttl: { type: 'string', default: '1h' },
    },
  });
  const gateway = process.env['GATEWAY_URL'] ?? readLocalFacts()?.gateway;
  if (gateway === undefined) {
    throw new Error('There is no local stack yet: run "npm start" first, or set GATEWAY_URL.');
  }
  if (!ofThisMachine.test(new URL(gateway).hostname)) {
    throw new Error(
      'A console on another machine opens no link: sign in there with a token from "npm run token".',
    );
  }
  const who = { integration: values.integration, ttlSeconds: parseTtl(values.ttl) };
  // A wrong or missing secret is reported now, and not when the link is opened.
  issueLocalToken(who);
  await using door = await openDoor({
    page: `${gateway.replace(/\/$/, '')}/console`,
    issue: () => issueLocalToken(who),
  });
  process.stdout.write(`${door.link}\n`);
  await door.passed;
}

await runWithUsage(usage, printLink);
