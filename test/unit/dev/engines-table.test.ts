import { describe, expect, it } from 'vitest';
import { NotServed, type RunningEngine } from '../../../dev/engines/engine.ts';
import type { Memory, Served } from '../../../dev/engines/memory.ts';
import type { Row, Rows } from '../../../dev/engines/row.ts';
import { takeFirstThatServes, type Setting } from '../../../dev/engines/table.ts';

const running: RunningEngine = {
  url: 'nats://127.0.0.1:4222',
  description: 'nats-server 2.15.1',
  pids: () => [],
  kill: async () => undefined,
  hold: () => undefined,
  resume: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};
const refuses: Row = async () => {
  throw new NotServed('Docker does not answer', 'start it');
};
const serves: Row = async () => running;
const rows: Rows = { docker: refuses, path: serves, download: refuses, build: refuses };

function memoryOf(served?: Served): Memory & { served: Served | undefined } {
  return {
    served,
    recall() {
      return this.served;
    },
    note(_name, next) {
      this.served = next;
    },
  };
}

function settingOf(lastServed: Memory): Setting {
  return {
    name: 'nats',
    environment: {},
    folder: '/nowhere',
    forced: undefined,
    temporary: true,
    natsConfig: undefined,
    onChange: () => undefined,
    ledger: { enter: () => undefined, close: () => undefined },
    logFolder: '/nowhere',
    cache: {
      folder: '/nowhere',
      progress: {
        say: () => undefined,
        during: (_what, work) => work(() => undefined),
        [Symbol.dispose]: () => undefined,
      },
      signal: new AbortController().signal,
    },
    lastServed,
    madeData: memoryOf(),
  };
}

describe('the stated reason for the source of an engine', () => {
  it('names failed sources, and says at later starts that an earlier start found the failure', async () => {
    const memory = memoryOf();
    const first = await takeFirstThatServes(rows, settingOf(memory));
    expect(first.reason).toBe('nats-server 2.15.1 (docker: Docker does not answer)');
    for (const _start of [2, 3]) {
      const { reason } = await takeFirstThatServes(rows, settingOf(memory));
      expect(reason).toBe('nats-server 2.15.1 (an earlier start found: docker: Docker does not answer)');
    }
  });

  it('is only the version of the engine where no source failed before', async () => {
    const setting = settingOf(memoryOf());
    const { reason } = await takeFirstThatServes({ ...rows, docker: serves }, setting);
    expect(reason).toBe('nats-server 2.15.1');
  });
});
