// What the driver still does, for which shared/runtime/src/store/mongodb-driver has workarounds. A test that fails here says which
// of them may go.
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import * as driver from 'mongodb';
import { BSON, MongoClient } from 'mongodb';
import { expect, it, vi } from 'vitest';
import { missingPackages } from '../../../../shared/runtime/src/store/mongodb-driver/optional-packages.ts';
import { poolErrors } from '../../../../shared/runtime/src/store/mongodb-driver/unexported-errors.ts';

const require = createRequire(import.meta.url);

interface DriversConnection {
  writeCommand(command: { toBin: () => Promise<Buffer[]> }, options: object): Promise<void>;
}

it('the driver waits for a destroyed socket to drain; if not, remove heartbeats.ts, and the count of ticks in running-operations.ts', async () => {
  const { Connection } = require('mongodb/lib/cmap/connection.js') as {
    Connection: new (socket: Socket, options: object) => DriversConnection;
  };
  const socket = new Socket();
  const connection = new Connection(socket, { hostAddress: 'mongodb:27017', generation: 0, id: 1 });
  socket.destroy();
  const written = connection.writeCommand(
    { toBin: () => Promise.resolve([Buffer.from('ping')]) },
    { agreedCompressor: 'none' },
  );
  const ended = written.then(
    () => 'ended',
    () => 'ended',
  );
  const waits = new Promise((resolve) => setTimeout(() => resolve('waits'), 5_000));
  expect(await Promise.race([ended, waits])).toBe('waits');
});

it('the driver decodes each string by a separate call; if not, remove decode.ts unless it saves 5 % of the time', () => {
  const texts = Array.from({ length: 50 }, (_, n) => `a text of more than twenty bytes, number ${n}`);
  const bytes = Buffer.from(BSON.serialize({ texts }));
  using made = vi.spyOn(Buffer.prototype, 'toString');
  expect(BSON.deserialize(bytes)).toEqual({ texts });
  expect(made.mock.calls.length).toBeGreaterThanOrEqual(texts.length);
});

it('the driver accepts compressors whose package is missing; if not, remove optional-packages.ts', () => {
  const { options } = new MongoClient('mongodb://localhost/?compressors=snappy');
  expect(missingPackages(options)).toHaveLength(1);
});

it.each([...poolErrors])(
  'the driver does not export %s; if it does, use the class instead of its name',
  (name) => {
    expect(Object.keys(driver)).not.toContain(name);
  },
);
