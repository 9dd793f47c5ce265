import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { environmentOfTests, folderInMemory, useEnvironment } from '../../support/environment.ts';

it('leaves out where a system in use has its engines and its collector, and keeps the rest', () => {
  expect(
    environmentOfTests({
      MONGODB_URL: 'mongodb://in-use',
      MONGODB_DATABASE: 'in_use',
      NATS_URL: 'nats://in-use',
      NATS_MONITOR_URL: 'http://in-use',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://in-use',
      NATS_URL_FILE: '/in-use',
      NATS_TLS_CA_FILE: '/in-use',
      NATS_PASSWORD: 'in use',
      NATS_IMAGE: 'nats:2.15',
      ENGINES: 'path',
      NODE_COMPILE_CACHE: '/compiled',
      PATH: '/bin',
    }),
  ).toEqual({ NATS_IMAGE: 'nats:2.15', ENGINES: 'path', NODE_COMPILE_CACHE: '/compiled', PATH: '/bin' });
});

it('takes the MongoDB that is lent to it', () => {
  const lent = { MONGODB_URL: 'mongodb://in-use', TEST_MONGODB_URL: 'mongodb://lent' };
  expect(environmentOfTests(lent)).toMatchObject({ MONGODB_URL: 'mongodb://lent' });
});

it('lets processes find what others have compiled', () => {
  expect(environmentOfTests({ XDG_CACHE_HOME: '/cache' })).toMatchObject({
    NODE_COMPILE_CACHE: '/cache/integration-sync-service/compiled',
  });
});

it('keeps what the engines store in memory where there is enough, unless it is told where', () => {
  expect(environmentOfTests({}, '/dev/shm')).toMatchObject({ TMPDIR: '/dev/shm' });
  expect(environmentOfTests({ TMPDIR: '/elsewhere' }, '/dev/shm')).toMatchObject({ TMPDIR: '/elsewhere' });
  expect(environmentOfTests({ TEMP: '/elsewhere' }, '/dev/shm')).not.toHaveProperty('TMPDIR');
  expect(environmentOfTests({})).not.toHaveProperty('TMPDIR');
});

it('takes no folder for one in memory that is none, or in which nothing can be written', () => {
  expect(folderInMemory(import.meta.dirname)).toBeUndefined();
  expect(folderInMemory('/proc')).toBeUndefined();
  expect(folderInMemory('/nowhere')).toBeUndefined();
});

it('holds for what is a part of Node too', () => {
  const before = { ...process.env };
  useEnvironment({ PATH: before['PATH'], TMPDIR: '/elsewhere' });
  const [folder, names] = [tmpdir(), Object.keys(process.env)];
  useEnvironment(before);
  expect(folder).toBe('/elsewhere');
  expect(names.toSorted()).toEqual(['PATH', 'TMPDIR']);
  expect({ ...process.env }).toEqual(before);
});

it('is the environment of this run', () => {
  expect(environmentOfTests(process.env)).toEqual({ ...process.env });
});
