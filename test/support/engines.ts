// Starts engines and bundles programs for a test run; vitest calls this before the component and the system tests. Each
// run has its own engines in a temporary folder, so that it touches neither a running stack nor another run.
//   const { mongodb, nats } = inject('engines');      // addresses
//   const { webhooks } = inject('programs');          // a file for node
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { removeAbandoned, startEngines, type Engines } from '@integration-sync/dev/engines';
import type { TestProject } from 'vitest/node';
import { memoryFolder } from './environment.ts';
import { folderPrefix, makeFolder } from './folder.ts';
import { makePrograms, type Programs } from './programs.ts';

declare module 'vitest' {
  interface ProvidedContext {
    engines: { mongodb: string; nats: string };
    programs: Programs;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const use = (shared.current ??= open());
  use.users += 1;
  const [engines, programs] = await Promise.all([use.engines, use.programs]);
  project.provide('engines', { mongodb: engines.mongodb.url, nats: engines.nats.url });
  project.provide('programs', programs);
  return async () => {
    use.users -= 1;
    if (use.users > 0) return;
    delete shared.current;
    await engines[Symbol.asyncDispose]();
  };
}

interface Use {
  engines: Promise<Engines>;
  programs: Promise<Programs>;
  users: number;
}

// Each project of vitest loads this file again, so the projects share their engines through a global symbol.
const key = Symbol.for('integration-sync.test.engines');
const place: typeof globalThis & { [key]?: { current?: Use } } = globalThis;
const shared = (place[key] ??= {});

function open(): Use {
  return { engines: start(), programs: makePrograms(), users: 0 };
}

async function start(): Promise<Engines> {
  // A killed run may have left its folder on the disk or in memory (environment.ts).
  for (const parent of new Set([tmpdir(), '/tmp', memoryFolder]))
    if (existsSync(parent)) await removeAbandoned(parent, folderPrefix);
  return startEngines({
    dataFolder: await makeFolder(),
    temporary: true,
    say: (line) => void process.stderr.write(`${line}\n`),
  });
}
