import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { repository } from '../../support/deploy-files.ts';
import { temporaryFolder } from '../../support/folder.ts';

/** Answers like docker with one container of each service, except for a service that the project does not have. */
const docker = `#!/bin/bash
echo "$*" >> "$CALLS"
case "$*" in
  *catlog) echo 'no such service: catlog' >&2; exit 1 ;;
  'compose ps'*) echo "$5-container" ;;
  inspect*) echo healthy ;;
esac`;

it('restart.sh fails at a service that docker compose does not know, and restarts no service after it', async () => {
  await using folder = await temporaryFolder();
  const calls = join(folder.path, 'calls');
  await writeFile(join(folder.path, 'docker'), docker, { mode: 0o755 });
  const env = { ...process.env, PATH: `${folder.path}:${process.env['PATH']}`, CALLS: calls };
  const services = ['webhooks', 'catlog', 'batches'];
  const run = promisify(execFile)('bash', [join(repository, 'deploy/restart.sh'), ...services], { env });
  await expect(run).rejects.toMatchObject({ code: 1, stderr: 'no such service: catlog\n' });
  const { stdout } = await promisify(execFile)('grep', ['^restart', calls]);
  expect(stdout).toBe('restart webhooks-container\n');
});
