import { configs } from '@integration-sync/dev/configs';
import { nearNames } from '@integration-sync/runtime/config';
import { expect, it } from 'vitest';

const near = (...names: string[]): string[] =>
  nearNames(configs.gateway, Object.fromEntries(names.map((name) => [name, 'secret'])));

it.each([
  ['RATE_LIMIT_REQUEST', 'RATE_LIMIT_REQUESTS'],
  ['AUTH_JWT_SECRETS', 'AUTH_JWT_SECRET'],
  ['AUTH_JWT_SECRET_FLIE', 'AUTH_JWT_SECRET_FILE'],
  ['NATS_URI', 'NATS_URL'],
  ['Log_Level', 'LOG_LEVEL'],
])('a warning names %s and the similar setting %s, without the value', (name, meant) => {
  expect(near(name)).toEqual([`${name} is no setting and is ignored: is ${meant} meant?`]);
});

it('no warning names a valid setting, or a variable that is not similar to a setting', () => {
  expect(near('RATE_LIMIT_REQUESTS', 'AUTH_JWT_SECRET_FILE', 'PATH', 'NODE_ENV', 'HTTPS_PROXY')).toEqual([]);
  expect(near('NATS_PORT_4222_TCP', 'MONGODB_URL', 'HOSTNAME', 'npm_config_prefix')).toEqual([]);
});

it('no service warns of a setting of another service', () => {
  const all = Object.values(configs).flatMap((config) => Object.keys(config.properties));
  const environment = Object.fromEntries(all.map((name) => [name, '1']));
  for (const config of Object.values(configs)) expect(nearNames(config, environment)).toEqual([]);
});
