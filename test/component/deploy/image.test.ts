// What the image runs, as dev/bundle.ts makes it. Whether the containers run is tried with Docker (docs/running.md).
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { repository } from '../../support/deploy-files.ts';
import { temporaryFolder } from '../../support/folder.ts';

const run = promisify(execFile);

it('the image has a program for each service, under the name of its source, and a program for operators', async () => {
  await using folder = await temporaryFolder();
  await run(process.execPath, [join(repository, 'dev/bundle.ts'), folder.path]);
  const start = (name: string, args: string[], told: Record<string, string>) =>
    run(process.execPath, [join(folder.path, `services/${name}/src/main.ts`), ...args], {
      env: { ...process.env, ...told },
    });
  for (const service of ['gateway', 'catalog', 'batches', 'webhooks']) {
    // With a wrong setting a service ends once it is loaded: this is how the image's cache is filled.
    const ended = await start(service, [], { LOG_LEVEL: 'none' }).catch((error: unknown) => error);
    expect(ended).toMatchObject({ code: 1, stderr: expect.stringContaining('LOG_LEVEL: expected') });
  }
  expect((await start('ops', ['--help'], {})).stdout).toContain('Usage: ops COMMAND');
}, 120_000);
