// The layers of the tests. `unit` does no IO and needs nothing; the others run on real engines, which
// test/support/engines.ts starts once for a run.
import { defineConfig } from 'vitest/config';
import { environmentOfTests } from './test/support/environment.ts';

// Here and not in a setup file: this is before anything of a run has been started.
process.env = environmentOfTests(process.env);

// A poll waits for what is true in the end, on a machine that has other work too.
const expects = { poll: { timeout: 10_000 } };
const engines = { globalSetup: ['test/support/engines.ts'] };

export default defineConfig({
  test: {
    // The second is what .ci/run counts.
    reporters: ['default', ['json', { outputFile: '.local/test-report.json' }]],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/unit/**/*.test.ts'],
          setupFiles: ['test/support/simulated-time.ts'],
          // They change nothing that a later file could see, and to load the services anew for each costs more than they do.
          isolate: false,
          expect: expects,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'component',
          include: ['test/component/**/*.test.ts'],
          ...engines,
          expect: expects,
          testTimeout: 90_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/system/**/*.test.ts'],
          ...engines,
          // Every file runs a stack of its own: four services, and the machine may have two cores.
          maxWorkers: 2,
          expect: expects,
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
