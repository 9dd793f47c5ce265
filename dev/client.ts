// npm run client -- add | list | rotate | remove: `ops client` on the file of the local stack, unless the environment names another.
// The stack need not run.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { clientsFileOf } from './stack/key.ts';
import { repositoryFolder } from './stack/services.ts';

const path = process.env['AUTH_CLIENTS_FILE'] || clientsFileOf(join(repositoryFolder, '.local'));
const { status } = spawnSync(
  process.execPath,
  [join(repositoryFolder, 'services/ops/src/main.ts'), 'client', ...process.argv.slice(2)],
  { env: { ...process.env, AUTH_CLIENTS_FILE: path }, stdio: 'inherit' },
);
process.exitCode = status ?? 1;
