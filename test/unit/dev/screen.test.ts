import type { Stack } from '@integration-sync/dev/stack';
import { expect, it } from 'vitest';
import { welcome } from '../../../dev/stack/screen.ts';

it('the screen of npm start shows the addresses of the engines without passwords', () => {
  const stack = {
    gateway: 'http://127.0.0.1:8080',
    nats: 'nats://me:hunter2@nats:4222',
    mongodb: 'mongodb://me:hunter2@mongodb:27017',
    logFolder: '.local/logs',
    authSecret: undefined,
  } as Partial<Stack> as Stack;
  expect(welcome(stack)).toContain('nats:4222');
  expect(welcome(stack)).toContain('mongodb:27017');
  expect(welcome(stack)).not.toContain('hunter2');
});

it('the screen of npm start shows the local key in a push to paste, where there is a key', () => {
  const stack = {
    gateway: 'http://127.0.0.1:8080',
    nats: 'nats://nats:4222',
    mongodb: 'mongodb://mongodb:27017',
    logFolder: '.local/logs',
    key: 'isk_a-key',
  } as Partial<Stack> as Stack;
  expect(welcome(stack)).toMatch(/^KEY=isk_a-key$/m);
  expect(welcome(stack)).toMatch(/^API=http:\/\/127\.0\.0\.1:8080\/api\/v1\/integration$/m);
  expect(welcome(stack)).toMatch(/^curl .*Bearer \$KEY/m);
  expect(welcome({ ...stack, key: undefined })).not.toContain('curl');
});
