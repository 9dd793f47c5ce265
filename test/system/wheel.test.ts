// The Python client of python/, against the whole service.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { pythonPath, pythons, wheelFolder } from '../support/python.ts';
import { startTestStack } from '../support/stack.ts';

const integrations = ['push', 'strict', 'wide', 'poll', 'events', 'values', 'webhooks'].map(
  (name) => `py-${name}`,
);

it.each(pythons.slice(-1))(
  'the Python wheel pushes, lists, polls and verifies under Python $version',
  async ({ python }) => {
    await using stack = await startTestStack();
    const tokens = integrations.map((integration) => [integration, stack.token({ integration })]);
    const args = ['-X', 'dev', '-m', 'unittest', 'discover', '-s', join(wheelFolder, 'tests/service')];
    const { stderr } = await promisify(execFile)(python, args, {
      env: {
        PATH: process.env['PATH'],
        PYTHONPATH: pythonPath,
        PYTHONDONTWRITEBYTECODE: '1',
        GATEWAY: stack.gateway,
        KEY: stack.key ?? '',
        TOKENS: JSON.stringify(Object.fromEntries(tokens)),
      },
    });
    expect(stderr).toMatch(/^Ran 8 tests in .*\n\nOK\n$/m);
  },
);
