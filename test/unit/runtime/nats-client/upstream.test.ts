// What the client still does, for which shared/runtime/src/bus/nats-client has workarounds. A test that fails here says which of
// them may go. test/component/bus/certificates.test.ts has that of transport.ts.
import { createUser } from '@nats-io/jwt';
import { credsAuthenticator, headers } from '@nats-io/transport-node';
import { NatsConnectionImpl, Servers } from '@nats-io/transport-node/lib/nats-base-client.js';
import { expect, it } from 'vitest';
import { asCredentials } from '../../../../shared/runtime/src/bus/nats-client/credentials.ts';

it('the NATS client reconnects first to the lost server; if not, remove next-server.ts', () => {
  const servers = new Servers();
  servers.setServers(['one:4222', 'two:4222']);
  const first = servers.selectServer();
  expect(first?.listen).toBe('one:4222');
  expect(servers.selectServer()).toBe(first);
});

const seed = Buffer.from(createUser().getSeed()).toString();
const credentials = [
  '-----BEGIN NATS USER JWT-----',
  'token',
  '------END NATS USER JWT------',
  '',
  '-----BEGIN USER NKEY SEED-----',
  seed,
  '------END USER NKEY SEED------',
].join('\n');

it.each([
  ['without a last line break', credentials],
  ['with the line breaks of Windows', `${credentials}\n`.replaceAll('\n', '\r\n')],
])('the NATS client reads no credentials %s; if it does, remove credentials.ts', (_, text) => {
  expect(() => credsAuthenticator(Buffer.from(text))('nonce')).toThrow(/credentials|creds/i);
  expect(credsAuthenticator(asCredentials(text))('nonce')).toMatchObject({ jwt: 'token' });
});

it('the NATS client writes each message separately; if not, remove frames.ts', () => {
  const sent: unknown[] = [];
  const protocol = { publish: (...message: unknown[]) => void sent.push(message) };
  const nats = Object.assign(Object.create(NatsConnectionImpl.prototype) as NatsConnectionImpl, {
    protocol,
    draining: false,
    isClosed: () => false,
  });
  for (let n = 0; n < 3; n += 1) nats.publish('events.acme', 'body', { headers: headers() });
  expect(sent).toHaveLength(3);
});
