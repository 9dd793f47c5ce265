// Engines and programs for a test run: vitest calls this before the component and the system tests. They are always the
// run's own, the engines in a temporary folder, so that a stack that is running and a second run are left alone.
//
//   const { mongodb, nats } = inject('engines');      // addresses
//   const { webhooks } = inject('programs');          // a file for node
import { existsSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeAbandoned, startEngines, type Engines } from '@integration-sync/dev/engines';
import type { TestProject } from 'vitest/node';
import { memoryFolder } from './environment.ts';
import { folderPrefix } from './folder.ts';
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

// Each project loads this file again. What they share is in a place that all of them see.
const key = Symbol.for('integration-sync.test.engines');
const place: typeof globalThis & { [key]?: { current?: Use } } = globalThis;
const shared = (place[key] ??= {});

function open(): Use {
  return { engines: start(), programs: makePrograms(), users: 0 };
}

async function start(): Promise<Engines> {
  // A run before this one may have found no room in memory, or may have found it.
  for (const parent of new Set([tmpdir(), '/tmp', memoryFolder]))
    if (existsSync(parent)) await removeAbandoned(parent, folderPrefix);
  const dataFolder = await mkdtemp(join(tmpdir(), folderPrefix));
  return startEngines({
    dataFolder,
    temporary: true,
    say: (line) => void process.stderr.write(`${line}\n`),
  });
}
