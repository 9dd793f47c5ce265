// The process in which the floors are measured, so that its threads do nothing else. The benchmark asks it to prepare
// the input of a number of pushes for one part, and then to run the part, four at a time.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { openStore } from '@integration-sync/runtime/store';
import { answer, eventBytes, parse, validate, type Part } from './compute.ts';
import { openDriverPart, publishPart } from './exchange.ts';
import { makeInput } from './input.ts';
import type { Task } from './task.ts';

const [nats = '', mongodb = ''] = process.argv.slice(2);
const log = openLog({ service: 'bench', level: 'warn' });
const bus = await openBus({ url: nats, name: 'floors', log });
const store = await openStore({ url: mongodb, database: 'bench', log });

const parts: Readonly<Record<Task['part'], Part>> = {
  parse,
  validate,
  'BSON and driver': await openDriverPart(store),
  answer,
  'event bytes': eventBytes,
  publish: publishPart(bus),
};
const lanes = 4;
let ready: (() => unknown)[] = [];

async function carryOut(task: Task): Promise<void> {
  if (task.step === 'prepare') {
    ready = Array.from({ length: task.pushes }, () => parts[task.part](makeInput()));
    // Collects the garbage of the preparation now, so that it is not collected while the part is measured.
    globalThis.gc?.();
    return;
  }
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < ready.length) await ready[next++]?.();
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

process.on('message', (task: Task) => {
  carryOut(task).then(
    () => process.send?.('done'),
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
