// npm run ops -- COMMAND: operators' commands against the running stack, with its settings. Variables of the environment override
// these settings. npm run client is `ops client` on the file of the local stack, which need not run.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readFacts } from './stack/facts.ts';
import { openKey } from './stack/key.ts';
import { repositoryFolder } from './stack/services.ts';

const folder = join(repositoryFolder, '.local');
const facts = readFacts(folder);
const { NATS_URL, MONGODB_URL } = process.env;
const args = process.argv.slice(2);
const needsNone =
  ['client', 'help', undefined].includes(args[0]) || args.includes('--help') || args.includes('-h');

if (facts === undefined && !NATS_URL && !MONGODB_URL && !needsNone) {
  process.stderr.write('There is no local stack: run "npm start" first, or set NATS_URL and MONGODB_URL.\n');
  process.exitCode = 1;
} else {
  // The settings of webhooks are all that a command reads, except for the file of clients.
  const ofStack = { ...facts?.settings.webhooks, ...process.env };
  // If the stack never ran, `openKey` makes the file, with a key for the stack: a start makes no key if the file exists.
  const ofClients = args[0] === 'client' && { AUTH_CLIENTS_FILE: openKey(folder, process.env).clientsFile };
  // In this process: a signal that ends this process must end the command too.
  Object.assign(process.env, ofStack, ofClients);
  await import(pathToFileURL(join(repositoryFolder, 'services/ops/src/main.ts')).href);
}
