// npm run ops -- COMMAND: operators' commands against the running stack, with its settings. Variables of the environment override
// these settings.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { readFacts } from './stack/facts.ts';
import { repositoryFolder } from './stack/services.ts';

const facts = readFacts(join(repositoryFolder, '.local'));
const { NATS_URL, MONGODB_URL } = process.env;
const args = process.argv.slice(2);
const isQuestion = args.length === 0 || args.includes('--help') || args.includes('-h');

if (facts === undefined && !NATS_URL && !MONGODB_URL && !isQuestion) {
  process.stderr.write('There is no local stack: run "npm start" first, or set NATS_URL and MONGODB_URL.\n');
  process.exitCode = 1;
} else {
  // webhooks has all settings that a command reads.
  const { status } = spawnSync(
    process.execPath,
    [join(repositoryFolder, 'services/ops/src/main.ts'), ...args],
    { env: { ...facts?.settings.webhooks, ...process.env }, stdio: 'inherit' },
  );
  process.exitCode = status ?? 1;
}
