// Whom a service believes to be its nats-server, and whom a nats-server believes to be a service.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { makeAuthority, type Authority, type Certificate } from '../../support/certificates.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { startNatsAs } from '../../support/nats.ts';
import { comeIn, inFiles, reasonOfWait } from '../../support/nats-entrance.ts';

let ours: Authority;
let another: Authority;
let client: Certificate;

beforeAll(async () => {
  [ours, another] = await Promise.all([makeAuthority(), makeAuthority()]);
  client = await ours.issue('DNS:catalog');
});

/** At `tls://127.0.0.1`, and the same by its name. */
async function startTls(of: Certificate, clients?: Authority): Promise<{ byIp: string; byName: string }> {
  const folder = await temporaryFolder();
  const at = async (name: string, text: string): Promise<string> => {
    await writeFile(join(folder.path, name), text);
    return JSON.stringify(join(folder.path, name));
  };
  const nats = await startNatsAs([
    'tls {',
    `  cert_file: ${await at('cert.pem', of.cert)}`,
    `  key_file: ${await at('key.pem', of.key)}`,
    ...(clients === undefined ? [] : [`  ca_file: ${await at('ca.pem', clients.cert)}`, '  verify: true']),
    '}',
  ]);
  onTestFinished(async () => {
    await nats[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });
  const byIp = nats.url.replace('nats:', 'tls:');
  return { byIp, byName: byIp.replace('127.0.0.1', 'localhost') };
}

const trusting = (authority: Authority): Promise<Record<string, string>> =>
  inFiles({ NATS_TLS_CA: authority.cert });

describe('a nats-server with a certificate of a private authority', () => {
  it.each(['tls', 'nats'])('is trusted at %s://<ip> where the certificate names the IP', async (scheme) => {
    const { byIp } = await startTls(await ours.issue('IP:127.0.0.1'));
    const { bus } = comeIn({ NATS_URL: byIp.replace('tls', scheme), ...(await trusting(ours)) });
    expect((await bus).connected).toBe(true);
  });

  it.each([
    ['another IP', 'IP:127.0.0.2'],
    ['the name that the client takes an IP for', 'DNS:localhost'],
  ])('is not trusted at tls://<ip> where the certificate names %s', async (_, name) => {
    const { byIp } = await startTls(await ours.issue(name));
    const reason = await reasonOfWait(comeIn({ NATS_URL: byIp, ...(await trusting(ours)) }));
    expect(reason).toMatch(/IP: 127\.0\.0\.1 is not in the cert's list/);
  });

  it('is trusted at its host name, and only where the certificate has that name', async () => {
    const named = await startTls(await ours.issue('DNS:localhost'));
    expect((await comeIn({ NATS_URL: named.byName, ...(await trusting(ours)) }).bus).connected).toBe(true);
    const unnamed = await startTls(await ours.issue('IP:127.0.0.1'));
    const reason = await reasonOfWait(comeIn({ NATS_URL: unnamed.byName, ...(await trusting(ours)) }));
    expect(reason).toMatch(/Host: localhost\. is not/);
  });

  it.each([
    ['nothing is said of authorities', undefined],
    ['another authority is trusted', () => another],
  ])('is not trusted where %s', async (_, trusted) => {
    const { byIp } = await startTls(await ours.issue('IP:127.0.0.1'));
    const settings = trusted === undefined ? {} : await trusting(trusted());
    expect(await reasonOfWait(comeIn({ NATS_URL: byIp, ...settings }))).toBe(
      'nats-server has a certificate of an issuer that is not trusted here: set NATS_TLS_CA',
    );
  });
});

// A test that fails here says which part of shared/runtime/src/bus/nats-client/transport.ts may go.
describe('the NATS client by itself', () => {
  it('expects the name localhost in the certificate of an IP; once it expects the IP, remove startTLS of transport.ts', async () => {
    const { byIp } = await startTls(await ours.issue('IP:127.0.0.1'));
    const connecting = connect({ servers: byIp, tls: { ca: ours.cert }, maxReconnectAttempts: 0 });
    await expect(connecting).rejects.toThrow(/Host: localhost\. is not/);
  });

  it('does not report that a server requires a client certificate; once it reports that, remove onTrouble of transport.ts', async () => {
    const { byName } = await startTls(await ours.issue('DNS:localhost'), ours);
    const connecting = connect({ servers: byName, tls: { ca: ours.cert }, timeout: 2_000 });
    await expect(connecting).rejects.not.toThrow(/certificate/i);
  });
});

describe('a nats-server that asks for a client certificate', () => {
  it('accepts a client certificate of its authority', async () => {
    const { byIp } = await startTls(await ours.issue('IP:127.0.0.1'), ours);
    const own = await inFiles({ NATS_TLS_CERT: client.cert, NATS_TLS_KEY: client.key });
    const coming = comeIn({ NATS_URL: byIp, ...(await trusting(ours)), ...own });
    expect((await coming.bus).connected).toBe(true);
    expect(coming.logText()).not.toContain('PRIVATE KEY');
  });

  it('makes a client without a certificate wait, and the client logs the reason', async () => {
    const { byIp } = await startTls(await ours.issue('IP:127.0.0.1'), ours);
    expect(await reasonOfWait(comeIn({ NATS_URL: byIp, ...(await trusting(ours)) }))).toBe(
      'nats-server asks for a client certificate: set NATS_TLS_CERT and NATS_TLS_KEY',
    );
  });

  it('a service whose certificate nats-server rejects waits, and logs the reason', async () => {
    const { byIp } = await startTls(await ours.issue('IP:127.0.0.1'), ours);
    const foreign = await another.issue('DNS:catalog');
    const own = await inFiles({ NATS_TLS_CERT: foreign.cert, NATS_TLS_KEY: foreign.key });
    expect(await reasonOfWait(comeIn({ NATS_URL: byIp, ...(await trusting(ours)), ...own }))).toBe(
      'nats-server refuses the client certificate of NATS_TLS_CERT',
    );
  });
});

it('a key of another certificate ends the start with an error that names the setting', async () => {
  const { key } = await ours.issue('DNS:catalog');
  const files = await inFiles({ NATS_TLS_CERT: client.cert, NATS_TLS_KEY: key });
  expect(() => comeIn(files)).toThrow(/^NATS_TLS_KEY: expected the key of NATS_TLS_CERT, got another$/);
});

it.each([
  ['NATS_TLS_CA', 'one or more certificates in PEM'],
  ['NATS_TLS_CERT', 'a certificate in PEM, followed by the certificates of its issuers'],
  ['NATS_TLS_KEY', 'a private key in PEM, without a passphrase'],
])('%s that is no PEM ends the start with an error that does not show the value', async (name, expected) => {
  const text = '-----BEGIN CERTIFICATE-----\nhunter2\n-----END CERTIFICATE-----';
  const files = await inFiles({ [name]: text });
  expect(() => comeIn(files)).toThrow(
    `${name}: expected ${expected}, got ${text.length} characters of ${JSON.stringify(files[`${name}_FILE`])} that are not shown`,
  );
});
