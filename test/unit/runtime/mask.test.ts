import { BatchesConfig } from '@integration-sync/batches/config';
import { readConfig } from '@integration-sync/runtime/config';
import { GatewayConfig } from '@integration-sync/gateway/config';
import { WebhooksConfig } from '@integration-sync/webhooks/config';
import { expect, it } from 'vitest';
import { maskSettings } from '../../../shared/runtime/src/config/mask-settings.ts';

const key = `first:${Buffer.alloc(32, 7).toString('base64')}`;

it('the masked settings have every value, and for a secret only that it is set', () => {
  const config = readConfig(WebhooksConfig, { WEBHOOK_SECRET_KEY: key, WEBHOOK_IN_FLIGHT_MAX: '7' });
  const masked = maskSettings(WebhooksConfig, config);
  expect(Object.keys(masked)).toEqual(Object.keys(config));
  expect(masked).toMatchObject({ WEBHOOK_SECRET_KEY: 'set, not shown', WEBHOOK_IN_FLIGHT_MAX: 7 });
  const secret = 'a secret of at least 32 characters and more';
  const ofGateway = maskSettings(GatewayConfig, readConfig(GatewayConfig, { AUTH_JWT_SECRET: secret }));
  expect(JSON.stringify([masked, ofGateway])).not.toMatch(/a secret|BwcH/);
});

it.each([
  ['mongodb://127.0.0.1:27017', 'mongodb://127.0.0.1:27017'],
  ['mongodb://me:hidden@db:27017/?authSource=hidden', 'mongodb://***@db:27017/?…'],
  ['mongodb://me:hid@den@db:27017', 'mongodb://***@db:27017'],
  ['mongodb://me:pw@db/?appName=sync@prod&password=hidden', 'mongodb://***@db/?…'],
  ['mongodb://me:pa/ss@db', 'set, not shown'],
  ['mongodb://me:pa?ss@db', 'set, not shown'],
  ['mongodb://me:pw@db/p@ss', 'set, not shown'],
  ['mongodb+srv://me@cluster.example/records', 'mongodb+srv://***@cluster.example/records'],
  ['mongodb://one:1,two:2/records', 'mongodb://one:1,two:2/records'],
  ['mongodb://db/?authMechanismProperties=AWS_SESSION_TOKEN:hidden', 'mongodb://db/?…'],
])('the masked address %s has its host without credentials', (given, shown) => {
  const masked = maskSettings(BatchesConfig, readConfig(BatchesConfig, { MONGODB_URL: given }));
  expect(masked['MONGODB_URL']).toBe(shown);
});

it('a masked address keeps several servers, and none of their passwords', () => {
  const config = readConfig(BatchesConfig, { NATS_URL: 'nats://a:hidden@one:4222,nats://a:hidden@two:4222' });
  expect(maskSettings(BatchesConfig, config)['NATS_URL']).toBe('nats://***@one:4222,nats://***@two:4222');
});
