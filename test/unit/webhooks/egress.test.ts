// Where deliveries may not go. Every form goes the whole way of an attempt, with a connector that connects
// nowhere and counts, so that nothing leaves the machine even where the guard fails.
import type { buildConnector } from 'undici';
import { describe, expect, it, test } from 'vitest';
import type { KnownEndpoint } from '../../../services/webhooks/src/endpoints/cache.ts';
import { makeSecret, signingKeyOf } from '../../../services/webhooks/src/secrets/signing-secret.ts';
import { openConnections } from '../../../services/webhooks/src/sending/receiver-connections.ts';
import {
  openEgressGuard,
  openResolver,
  parseAllowList,
  type Resolve,
} from '../../../services/webhooks/src/sending/egress-guard.ts';
import { openPoster } from '../../../services/webhooks/src/sending/post.ts';
import { openSend } from '../../../services/webhooks/src/sending/send.ts';

const names: Record<string, string[]> = {
  'public.example': ['93.184.216.34', '2606:2800:220:1:248:1893:25c8:1946'],
  'v4.example': ['93.184.216.34'],
  'inside.example': ['10.0.0.5'],
  'half.example': ['93.184.216.34', '127.0.0.1'],
  'half6.example': ['93.184.216.34', '::1'],
  'mapped.example': ['::ffff:10.0.0.1'],
  'metadata.example': ['169.254.169.254'],
  'nothing.example': [],
  localhost: ['127.0.0.1', '::1'],
  'app.localhost': ['127.0.0.1'],
};

const resolve: Resolve = async (name) => {
  const addresses = names[name];
  if (addresses === undefined) throw new Error('ENOTFOUND');
  return addresses;
};

interface EgressOptions {
  allow?: string;
  resolver?: Resolve;
  stop?: AbortSignal;
  /** The address at which a connection is neither made nor refused. */
  silent?: string;
}

function openEgress(options: EgressOptions = {}) {
  const { allow = '', resolver = resolve, stop = new AbortController().signal } = options;
  const connected: string[] = [];
  const connector: buildConnector.connector = ({ hostname, port }, callback) => {
    connected.push(`${hostname}:${port || '443'}`);
    if (hostname === options.silent) return;
    callback(Object.assign(new Error('nothing is connected here'), { code: 'ECONNREFUSED' }), null);
  };
  const connections = openConnections({ connector });
  const send = openSend({
    guard: openEgressGuard({ allowed: parseAllowList(allow) ?? [], resolve: resolver }),
    connections,
    poster: openPoster(connections),
    userAgent: 'Test-Webhook/1.0',
  });
  const attempt = (url: string) =>
    send(
      {
        endpoint: { _id: 'wh_1', url },
        key: signingKeyOf(makeSecret()),
        previousKeys: [] as KnownEndpoint['previousKeys'],
        headers: [] as readonly string[],
      } as KnownEndpoint,
      {
        attempt: 1,
        eventId: 'e',
        event: 'supplier.created',
        timestamp: '2026-01-01T00:00:00.000Z',
        body: Buffer.from('{}'),
        signal: stop,
      },
    );
  return { connected, attempt };
}

const refused = [
  // this machine, in every way of writing it
  'https://127.0.0.1/', 'https://127.1/', 'https://127.0.1/', 'https://2130706433/', 'https://017700000001/',
  'https://0x7f000001/', 'https://0x7f.1/', 'https://0177.0.0.1/', 'https://127.0.0.1./', 'https://127.255.255.254/',
  'https://%31%32%37.0.0.1/', 'https://①②⑦.0.0.1/', 'https://localhost/', 'https://LOCALHOST./', 'https://app.localhost/',
  'https://0.0.0.0/', 'https://0/', 'https://0.1.2.3/',
  'https://[::1]/', 'https://[::]/', 'https://[0:0:0:0:0:0:0:1]/', 'https://[::7f00:1]/', 'https://[::127.0.0.1]/',
  // private, shared and link-local networks
  'https://10.0.0.1/', 'https://10.255.255.255/', 'https://172.16.0.1/', 'https://172.31.255.255/', 'https://192.168.0.1/',
  'https://0xc0a80001/', 'https://3232235521/', 'https://100.64.0.1/', 'https://100.127.255.255/', 'https://169.254.0.1/',
  'https://[fe80::1]/', 'https://[febf::1]/', 'https://[fc00::1]/', 'https://[fd12:3456::1]/', 'https://[fec0::1]/',
  // of no machine: multicast, broadcast, reserved, documentation, benchmarking, relays
  'https://224.0.0.1/', 'https://239.255.255.255/', 'https://255.255.255.255/', 'https://240.0.0.1/', 'https://192.0.0.1/',
  'https://192.0.2.1/', 'https://198.51.100.1/', 'https://203.0.113.1/', 'https://198.18.0.1/', 'https://192.88.99.1/',
  'https://[ff02::1]/', 'https://[100::1]/', 'https://[2001:db8::1]/', 'https://[2001:2::1]/', 'https://[2001:10::1]/',
  'https://[2001:20::1]/', 'https://[3fff::1]/', 'https://[5f00::1]/', 'https://[4000::1]/', 'https://[2620:4f:8000::1]/',
  // IPv4 written as IPv6
  'https://[::ffff:127.0.0.1]/', 'https://[::ffff:7f00:1]/', 'https://[::ffff:10.0.0.1]/', 'https://[::ffff:8.8.8.8]/',
  'https://[::ffff:0:127.0.0.1]/', 'https://[64:ff9b::10.0.0.1]/', 'https://[64:ff9b:1::10.0.0.1]/', 'https://[2002:7f00:1::1]/',
  'https://[2001:0:7f00:1::1]/', 'https://[2606:2800::5efe:10.0.0.1]/', 'https://[2606:2800::200:5efe:10.0.0.1]/',
  // metadata services
  'https://169.254.169.254/latest/meta-data/', 'https://2852039166/', 'https://[::ffff:169.254.169.254]/', 'https://168.63.129.16/',
  'https://100.100.100.200/', 'https://[fd00:ec2::254]/', 'https://metadata.google.internal/', 'https://METADATA.google.internal./',
  // users, ports, schemes
  'https://user@public.example/', 'https://user:word@public.example/', 'https://:@public.example/', 'https://@public.example/',
  'https://public.example@10.0.0.1/', 'https://public.example:8443/', 'https://public.example:80/', 'https://public.example:22/',
  'http://public.example/', 'http://public.example:443/', 'http://93.184.216.34/', 'ftp://public.example/', 'file:///etc/passwd',
  'gopher://public.example/', 'javascript:alert(1)', 'https://', 'https:///', 'public.example', '//public.example/', '',
  'https://public.example /', 'https://pub\tlic.example/', 'https://public.example/\n', 'https://[fe80::1%25eth0]/',
  'https:public.example', 'https:\\\\public.example/', 'https://public.example\\@127.0.0.1/', 'https://public.example/\ud800',
  'https://public.example:0/',
  // names that lead inside
  'https://inside.example/', 'https://half.example/', 'https://half6.example/', 'https://mapped.example/',
  'https://metadata.example/', 'https://nothing.example/', 'https://unknown.example/',
]; // oxfmt-ignore

describe('a delivery is refused, and no connection is opened,', () => {
  it.each(refused)('for %s', async (url) => {
    const { connected, attempt } = openEgress();
    const { verdict, responseStatus, error } = await attempt(url);
    expect({ verdict, responseStatus }).toEqual({ verdict: 'failed', responseStatus: null });
    expect(error).toMatch(/^refused: /);
    expect(connected).toEqual([]);
  });

  it.each([
    'https://169.254.169.254/',
    'http://169.254.169.254/',
    'https://168.63.129.16/',
    'http://100.100.100.200/',
    'http://[fd00:ec2::254]/',
    'http://metadata.google.internal/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[2002:a9fe:a9fe::1]/',
    'http://[2606:2800::5efe:a9fe:a9fe]/',
    'http://user@127.0.0.1/',
  ])('for %s, with any allow-list', async (url) => {
    const { connected, attempt } = openEgress({
      allow: '0.0.0.0/0,::/0',
      resolver: async () => ['169.254.169.254'],
    });
    expect((await attempt(url)).error).toMatch(/^refused: /);
    expect(connected).toEqual([]);
  });
});

test('a caller whose host name is refused does not learn the address behind the name', async () => {
  const { attempt } = openEgress();
  expect((await attempt('https://inside.example/')).error).toBe(
    'refused: inside.example leads to a private address',
  );
});

test('at least sixty addresses are refused', () => {
  expect(new Set(refused).size).toBeGreaterThanOrEqual(60);
});

describe('a delivery is connected', () => {
  it.each([
    ['https://v4.example/hook', '93.184.216.34:443'],
    ['https://v4.example:443/hook', '93.184.216.34:443'],
    ['https://93.184.216.34/', '93.184.216.34:443'],
    ['https://[2606:2800:220:1:248:1893:25c8:1946]/', '2606:2800:220:1:248:1893:25c8:1946:443'],
    ['https://172.15.0.1/', '172.15.0.1:443'],
    ['https://172.32.0.1/', '172.32.0.1:443'],
    ['https://100.128.0.1/', '100.128.0.1:443'],
  ])('for %s to %s', async (url, address) => {
    const { connected, attempt } = openEgress();
    expect((await attempt(url)).error).toBe('connection refused');
    expect(connected).toEqual([address]);
  });

  it.each([
    ['http://127.0.0.1:8123/', '127.0.0.1:8123'],
    ['https://127.0.0.1:8123/', '127.0.0.1:8123'],
    ['http://inside.example:9000/', '10.0.0.5:9000'],
  ])('to %s if its address is allow-listed', async (url, address) => {
    const { connected, attempt } = openEgress({ allow: '127.0.0.0/8, 10.0.0.5' });
    await attempt(url);
    expect(connected).toEqual([address]);
  });

  it('only with https on 443 where one address of several is not allow-listed', async () => {
    const { connected, attempt } = openEgress({ allow: '127.0.0.0/8' });
    expect((await attempt('http://half.example:9000/')).error).toMatch(/^refused: /);
    expect(connected).toEqual([]);
  });
});

describe('of a name with several addresses', () => {
  const both = ['93.184.216.34:443', '2606:2800:220:1:248:1893:25c8:1946:443'];

  it('each is tried once where none is reachable, and the reason is reported once', async () => {
    const { connected, attempt } = openEgress();
    expect((await attempt('https://public.example/')).error).toBe('connection refused');
    expect(connected).toEqual(both);
  });

  it('the next address is tried if the first does not answer, well before the deadline of the attempt', async () => {
    const { connected, attempt } = openEgress({ silent: '93.184.216.34' });
    const { error, durationMs } = await attempt('https://public.example/');
    expect(error).toBe('timeout: no connection; connection refused');
    expect(connected).toEqual(both);
    expect(durationMs).toBeLessThan(4_900);
  });
});

it('of hundreds of addresses of a name, an attempt tries sixteen, and the next attempt another sixteen', async () => {
  const all = Array.from({ length: 500 }, (_, n) => `93.184.${n >> 8}.${n & 255}`);
  const { connected, attempt } = openEgress({ resolver: async () => all });
  expect((await attempt('https://public.example/')).error).toBe('connection refused');
  expect(connected.splice(0)).toEqual(all.slice(0, 16).map((address) => `${address}:443`));
  await attempt('https://public.example/');
  expect(connected).toEqual(all.slice(16, 32).map((address) => `${address}:443`));
  const { attempt: attemptAny } = openEgress({ resolver: async () => [...all, '127.0.0.1'] });
  expect((await attemptAny('https://public.example/')).error).toMatch(/^refused: /);
});

describe('a name that resolves to another address later', () => {
  it('is connected at the checked address, although the name resolves to another address by then', async () => {
    const answers = [['93.184.216.34'], ['127.0.0.1']];
    const { connected, attempt } = openEgress({ resolver: async () => answers.shift() ?? ['127.0.0.1'] });
    await attempt('https://public.example/');
    expect(connected).toEqual(['93.184.216.34:443']);
  });

  it('is checked again at the next attempt', async () => {
    let address = '93.184.216.34';
    const { connected, attempt } = openEgress({ resolver: async () => [address] });
    await attempt('https://public.example/');
    address = '127.0.0.1';
    expect((await attempt('https://public.example/')).error).toMatch(/^refused: /);
    expect(connected).toEqual(['93.184.216.34:443']);
  });
});

test('no delivery is sent where the process stopped during a DNS lookup', async () => {
  const stopping = new AbortController();
  const resolver = async (): Promise<string[]> => {
    stopping.abort(new Error('the process stops'));
    return ['93.184.216.34'];
  };
  const { connected, attempt } = openEgress({ resolver, stop: stopping.signal });
  await expect(attempt('https://public.example/')).rejects.toThrow('the process stops');
  expect(connected).toEqual([]);
});

test('an answer of the resolver is cached for a second, and a failure not at all', async () => {
  let asked = 0;
  const resolver = openResolver(async () => {
    asked += 1;
    if (asked === 1) throw new Error('ENOTFOUND');
    return ['93.184.216.34'];
  });
  await expect(resolver('a.example')).rejects.toThrow('ENOTFOUND');
  await Promise.all([resolver('a.example'), resolver('a.example')]);
  expect(asked).toBe(2);
  await expect.poll(async () => (await resolver('a.example')) && asked, { timeout: 3_000 }).toBe(3);
});
