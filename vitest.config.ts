// The layers of the tests. `unit` does no IO and needs nothing; `component` and `system` run on real engines, which
// test/support/engines.ts starts once for a run. They are one project: a worker that goes from one project to another is a
// new process, and loads everything anew.
import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { environmentOfTests, folderInMemory, useEnvironment } from './test/support/environment.ts';
import { LongestFirst } from './test/support/longest-first.ts';

// Here and not in a setup file: this is before anything of a run has been started.
useEnvironment(environmentOfTests(process.env, folderInMemory()));

// A poll waits for what is true in the end, on a machine that has other work too.
const expects = { poll: { timeout: 10_000 } };
const engines = {
  globalSetup: ['test/support/engines.ts'],
  setupFiles: ['test/support/ports.ts', 'test/support/leftovers.ts'],
};

// A file of the slower layers often waits: for a schedule, for a process, for a disk. So two of them run side by side for each
// core, of all layers; some start a browser or a cluster beside all else. With three for each core the processors are no less
// busy, and tests of time-outs need a second try. A worker goes on with the next file as it is, because to load the services
// again costs more than most files do; leftovers.ts sees to it that no file leaves it anything.
const workers = { isolate: false, maxWorkers: Math.min(2 * availableParallelism(), 8) };

export default defineConfig({
  test: {
    // The second is what .ci/run counts.
    reporters: ['default', ['json', { outputFile: '.local/test-report.json' }]],
    sequence: { sequencer: LongestFirst },
    taskTitleValueFormatTruncate: 200,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/support/simulated-time.ts'],
          ...workers,
          expect: expects,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'engines',
          include: ['test/component/**/*.test.ts', 'test/system/**/*.test.ts'],
          ...engines,
          ...workers,
          // Some hold times against each other on a machine that starts browsers and clusters beside them. The report names each
          // that needed its second try (retry x1): one that needs it twice is looked into as one that fails.
          retry: 1,
          expect: expects,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
