import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { environmentOfTests, folderInMemory, useEnvironment } from '../../support/environment.ts';

it('the environment of tests has no address of engines or a collector, and keeps other variables', () => {
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

it('the environment of tests has the value of TEST_MONGODB_URL as MONGODB_URL', () => {
  const lent = { MONGODB_URL: 'mongodb://in-use', TEST_MONGODB_URL: 'mongodb://lent' };
  expect(environmentOfTests(lent)).toMatchObject({ MONGODB_URL: 'mongodb://lent' });
});

it('processes of tests share a compile cache', () => {
  expect(environmentOfTests({ XDG_CACHE_HOME: '/cache' })).toMatchObject({
    NODE_COMPILE_CACHE: '/cache/integration-sync-service/compiled',
  });
});

it('tests store engine data in /dev/shm where it has room, unless TMPDIR is set', () => {
  expect(environmentOfTests({}, '/dev/shm')).toMatchObject({ TMPDIR: '/dev/shm' });
  expect(environmentOfTests({ TMPDIR: '/elsewhere' }, '/dev/shm')).toMatchObject({ TMPDIR: '/elsewhere' });
  expect(environmentOfTests({ TEMP: '/elsewhere' }, '/dev/shm')).not.toHaveProperty('TMPDIR');
  expect(environmentOfTests({})).not.toHaveProperty('TMPDIR');
});

it('tests do not use /dev/shm where it is missing or read-only', () => {
  expect(folderInMemory(import.meta.dirname)).toBeUndefined();
  expect(folderInMemory('/proc')).toBeUndefined();
  expect(folderInMemory('/nowhere')).toBeUndefined();
});

it('the environment of tests replaces the variables of the process, also for Node’s own modules', () => {
  const before = { ...process.env };
  useEnvironment({ PATH: before['PATH'], TMPDIR: '/elsewhere' });
  const [folder, names] = [tmpdir(), Object.keys(process.env)];
  useEnvironment(before);
  expect(folder).toBe('/elsewhere');
  expect(names.toSorted()).toEqual(['PATH', 'TMPDIR']);
  expect({ ...process.env }).toEqual(before);
});

it('this test run itself has the environment of tests', () => {
  expect(environmentOfTests(process.env)).toEqual({ ...process.env });
});
