// Every kind of login at a real nats-server, from a file as a platform hands it over; a wrong one waits with its reason.
import { randomBytes } from 'node:crypto';
import type { Engine } from '@integration-sync/dev/engines';
import { ConfigError } from '@integration-sync/runtime/config';
import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
  type KeyPair,
} from '@nats-io/jwt';
import { expect, it, onTestFinished } from 'vitest';
import { openTestBus } from '../../support/bus.ts';
import { startNatsAs } from '../../support/nats.ts';
import { comeIn, inFiles, reasonOfWait } from '../../support/nats-entrance.ts';

type Texts = Record<string, string>;

/** A nats-server, the settings that it lets in, and those that it does not. */
interface Kind {
  server: readonly string[];
  plain?: Texts;
  right: Texts;
  wrong: Texts;
}

const random = (): string => `s${randomBytes(12).toString('hex')}`;
const seedOf = (pair: KeyPair): string => Buffer.from(pair.getSeed()).toString();

function password(): Kind {
  const pass = random();
  return {
    server: [`authorization { user: me, password: ${pass} }`],
    plain: { NATS_USER: 'me' },
    right: { NATS_PASSWORD: pass },
    wrong: { NATS_PASSWORD: random() },
  };
}

function token(): Kind {
  const one = random();
  return {
    server: [`authorization { token: ${one} }`],
    right: { NATS_TOKEN: one },
    wrong: { NATS_TOKEN: random() },
  };
}

function nkey(): Kind {
  const known = createUser();
  return {
    server: [`authorization { users: [ { nkey: ${known.getPublicKey()} } ] }`],
    right: { NATS_NKEY_SEED: seedOf(known) },
    wrong: { NATS_NKEY_SEED: seedOf(createUser()) },
  };
}

const credentialsBy = async (issuer: KeyPair): Promise<string> => {
  const user = createUser();
  return Buffer.from(fmtCreds(await encodeUser('catalog', user, issuer), user)).toString();
};

const unlimited = { conn: -1, subs: -1, data: -1, payload: -1 };

async function credentialsFile(limits: Partial<typeof unlimited> = unlimited): Promise<Kind> {
  const [operator, account, another] = [createOperator(), createAccount(), createAccount()];
  const ofAccount = await encodeAccount('sync', account, { limits }, { signer: operator });
  return {
    server: [
      `operator: ${await encodeOperator('operator', operator)}`,
      'resolver: MEMORY',
      'resolver_preload: {',
      `  ${account.getPublicKey()}: ${ofAccount}`,
      '}',
    ],
    right: { NATS_CREDENTIALS: await credentialsBy(account) },
    wrong: { NATS_CREDENTIALS: await credentialsBy(another) },
  };
}

/** The passwords themselves, and of credentials the seed. */
const secretsOf = (texts: Texts): string[] =>
  Object.values(texts).map((text) => /\bSU[A-Z2-7]{56}\b/.exec(text)?.[0] ?? text);

async function start(server: readonly string[]): Promise<Engine> {
  const nats = await startNatsAs(server);
  onTestFinished(() => nats[Symbol.asyncDispose]());
  return nats;
}

const kinds: [string, () => Kind | Promise<Kind>][] = [
  ['a user and a password', password],
  ['a token', token],
  ['an nkey', nkey],
  ['a credentials file', () => credentialsFile()],
];

it.each(kinds)(
  'nats-server accepts %s; a client with a wrong credential waits, and logs why',
  async (_, make) => {
    const { server, plain = {}, right, wrong } = await make();
    const { url } = await start(server);
    const settings = { NATS_URL: url, ...plain };

    const comingIn = comeIn({ ...settings, ...(await inFiles(right)) });
    const bus = await comingIn.bus;
    const heard = Promise.withResolvers<string>();
    using _listening = bus.listen('greeting', ({ body }) => heard.resolve(Buffer.from(body).toString()));
    bus.broadcast('greeting', 'hello');
    expect(await heard.promise).toBe('hello');

    for (const texts of [wrong, {}]) {
      const keptOut = comeIn({
        ...(texts === wrong ? settings : { NATS_URL: url }),
        ...(await inFiles(texts)),
      });
      expect(await reasonOfWait(keptOut)).toMatch(/authorization violation/i);
      for (const secret of secretsOf(texts)) expect(keptOut.logText()).not.toContain(secret);
    }
    for (const secret of secretsOf(right)) expect(comingIn.logText()).not.toContain(secret);
  },
);

it.each([
  ['NATS_NKEY_SEED', (seed: string) => seed],
  [
    'NATS_CREDENTIALS',
    (seed: string) =>
      `-----BEGIN NATS USER JWT-----\nx.y.z\n------END NATS USER JWT------\n\n` +
      `-----BEGIN USER NKEY SEED-----\n${seed}\n------END USER NKEY SEED------`,
  ],
])('a damaged seed in %s ends the start with an error that names the setting', async (name, textOf) => {
  const seed = seedOf(createUser());
  const damaged = seed.slice(0, -4) + (seed.endsWith('AAAA') ? 'BBBB' : 'AAAA');
  const coming = comeIn({ [name]: textOf(damaged) });
  const error = await coming.bus.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toBe(
    `ConfigError: ${name}: expected a seed that signs, got one that is damaged or cut off`,
  );
});

it('a client beyond a limit of its account waits, and logs the limit', async () => {
  const { server, right } = await credentialsFile({ ...unlimited, conn: 1 });
  const settings = { NATS_URL: (await start(server)).url, ...(await inFiles(right)) };
  expect((await comeIn(settings).bus).connected).toBe(true);
  expect(await reasonOfWait(comeIn(settings))).toBe('maximum account active connections exceeded');
});

it('a nats-server without users accepts a client without credentials', async () => {
  const { url } = await start([]);
  await using bus = await openTestBus(url);
  expect(bus.connected).toBe(true);
});
