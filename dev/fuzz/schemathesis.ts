// Schemathesis (from PyPI) against the running interface and its own description: with a good token, without a token, and as
// another integration. It is installed once, into the user's cache folder.
import { existsSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cacheFolder } from '../engines/cache.ts';
import { CommandError, runCommand } from '../process/command.ts';
import type { Stack } from '../stack/index.ts';

const version = '4.32.5';

export interface SchemathesisOptions {
  /** The working folder, where schemathesis may write files. */
  folder: string;
  seed: number;
  examples: number;
  say: (line: string) => void;
}

/** Runs Schemathesis as each visitor; resolves with the faults, an empty list without faults. */
export async function runSchemathesis(stack: Stack, options: SchemathesisOptions): Promise<string[]> {
  const program = await install(options.say);
  const visitors = [
    { name: 'a good token', header: `Bearer ${stack.token({ integration: 'fuzz-good' })}` },
    { name: 'no token', header: undefined },
    { name: 'another integration', header: `Bearer ${stack.token({ integration: 'fuzz-other' })}` },
  ];
  const faults: string[] = [];
  for (const { name, header } of visitors) {
    options.say(`schemathesis with ${name}`);
    const lines: string[] = [];
    try {
      await runCommand(program, argumentsFor(stack.gateway, header, options), {
        folder: options.folder,
        onLine: (line) => void lines.push(line),
      });
      options.say(lines.findLast((line) => /generated|passed|No issues/i.test(line))?.trim() ?? 'done');
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      faults.push(`schemathesis with ${name}:\n${lines.slice(-150).join('\n')}`);
    }
  }
  return faults;
}

/**
 * Each answer must be in the document, by status, type, headers and shape, and be no 5xx. Left out is the check that wrong input
 * is refused: for Schemathesis a wrong item makes a wrong request, but a push is answered 200 whatever its items are.
 */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
  'allow_header_conformance',
];

function argumentsFor(
  url: string,
  authorization: string | undefined,
  options: SchemathesisOptions,
): string[] {
  return [
    'run',
    `${url}/openapi.json`,
    `--checks=${checks.join(',')}`,
    '--phases=examples,coverage,fuzzing',
    `--max-examples=${options.examples}`,
    `--seed=${options.seed}`,
    '--generation-database=none',
    '--request-timeout=35',
    '--continue-on-failure',
    '--warnings=off',
    '--no-color',
    ...(authorization === undefined ? [] : ['--header', `Authorization: ${authorization}`]),
  ];
}

async function install(say: (line: string) => void): Promise<string> {
  const folder = join(cacheFolder(process.env), `schemathesis-${version}`);
  const program = join('bin', 'schemathesis');
  if (existsSync(join(folder, program))) return join(folder, program);
  say(`installing schemathesis ${version} (once)`);
  await mkdir(dirname(folder), { recursive: true });
  try {
    await runCommand('python3', ['-m', 'venv', folder]);
    await runCommand(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${version}`]);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return join(folder, program);
}
