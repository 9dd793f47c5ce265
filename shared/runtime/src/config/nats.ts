// The settings of the NATS connection: servers, login, TLS, and the subjects of the JetStream API.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { Type, type Static, type TObject } from 'typebox';
import { parseNatsServers } from './addresses.ts';
import type { Settings } from './explain.ts';

const certificates = (text: string): string[] =>
  text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];

const isCertificates = (text: string): boolean => {
  const found = certificates(text);
  return found.length > 0 && found.every((one) => works(() => new X509Certificate(one)));
};

const isPrivateKey = (text: string): boolean => works(() => createPrivateKey(text));

function works(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

export const natsSettings = {
  NATS_URL: Type.String({
    description:
      'Address of NATS: `nats://user:password@host:4222`, or a token in place of user and password; `tls://` requires ' +
      'TLS. Several servers of one cluster are separated by commas.',
    default: 'nats://127.0.0.1:4222',
    check: (text: string) => parseNatsServers(text) !== undefined,
    expected: 'an address such as nats://127.0.0.1:4222, or several separated by commas',
    file: true,
    beside: problemsOfNats,
  }),
  NATS_USER: Type.Optional(
    Type.String({ description: 'The user at NATS, with NATS_PASSWORD, if NATS_URL names no user.' }),
  ),
  NATS_PASSWORD: Type.Optional(Type.String({ description: 'The password of NATS_USER.', secret: true })),
  NATS_TOKEN: Type.Optional(Type.String({ description: 'The token, if NATS_URL holds none.', secret: true })),
  NATS_NKEY_SEED: Type.Optional(
    Type.String({
      description: 'The seed of the nkey by which NATS knows this user.',
      pattern: '^SU[A-Z2-7]{56}$',
      expected: 'the seed of a user, which begins with SU',
      secret: true,
    }),
  ),
  NATS_CREDENTIALS: Type.Optional(
    Type.String({
      description:
        'The content of a credentials file of NATS (`nsc generate creds`): the JWT of a user and its seed.',
      pattern: '^[^]*-----BEGIN NATS USER JWT-----[^]+-----BEGIN USER NKEY SEED-----[^]+$',
      expected: 'a credentials file, with the JWT of a user and its seed',
      secret: true,
    }),
  ),
  NATS_TLS_CA: Type.Optional(
    Type.String({
      description:
        'The certificates, in PEM, of the authorities that may sign the certificate of nats-server, in place of the ' +
        'well-known authorities. NATS_TLS_CA or NATS_TLS_CERT makes TLS mandatory.',
      check: isCertificates,
      expected: 'one or more certificates in PEM',
      secret: true,
    }),
  ),
  NATS_TLS_CERT: Type.Optional(
    Type.String({
      description: 'The client certificate for nats-server, in PEM, with NATS_TLS_KEY.',
      check: isCertificates,
      expected: 'a certificate in PEM, followed by the certificates of its issuers',
      secret: true,
    }),
  ),
  NATS_TLS_KEY: Type.Optional(
    Type.String({
      description: 'The private key of NATS_TLS_CERT, in PEM and without a passphrase.',
      check: isPrivateKey,
      expected: 'a private key in PEM, without a passphrase',
      secret: true,
    }),
  ),
};

export const jetstreamSettings = {
  NATS_JETSTREAM_DOMAIN: Type.Optional(
    Type.String({
      description: 'The JetStream domain of the streams, if NATS has several domains, as with leaf nodes.',
      pattern: '^[A-Za-z0-9_-]{1,64}$',
      expected: 'a name of 1 to 64 letters, digits, _ or -',
    }),
  ),
  NATS_JETSTREAM_PREFIX: Type.Optional(
    Type.String({
      description:
        'The prefix of the JetStream API in place of `$JS.API`, if the account imports JetStream from another account.',
      pattern: '^[A-Za-z0-9_$-]+(\\.[A-Za-z0-9_$-]+)*$',
      expected: 'a subject without wildcards, such as js.events.API',
    }),
  ),
};

type NatsConfig = Static<TObject<typeof natsSettings>> & Partial<Static<TObject<typeof jetstreamSettings>>>;

export type NatsLogin =
  | { credentials: string }
  | { nkeySeed: string }
  | { user: string; pass: string }
  | { token: string };

export interface NatsTls {
  ca?: string;
  cert?: string;
  key?: string;
}

export interface NatsOptions {
  /** The value of NATS_URL. */
  url: string;
  /** The login from the settings for logins, if the address has no login. */
  login?: NatsLogin;
  tls?: NatsTls;
  jetstream?: { domain: string } | { apiPrefix: string };
}

export function natsOptionsOf(config: NatsConfig): NatsOptions {
  const { NATS_TLS_CA: ca, NATS_TLS_CERT: cert, NATS_TLS_KEY: key } = config;
  const { NATS_JETSTREAM_DOMAIN: domain, NATS_JETSTREAM_PREFIX: apiPrefix } = config;
  const login = loginOf(config);
  return {
    url: config.NATS_URL,
    ...(login === undefined ? {} : { login }),
    ...(ca === undefined && cert === undefined ? {} : { tls: withoutAbsent({ ca, cert, key }) }),
    ...(domain === undefined ? {} : { jetstream: { domain } }),
    ...(apiPrefix === undefined ? {} : { jetstream: { apiPrefix } }),
  };
}

function withoutAbsent({ ca, cert, key }: Record<keyof NatsTls, string | undefined>): NatsTls {
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

function loginOf(config: NatsConfig): NatsLogin | undefined {
  const { NATS_CREDENTIALS: credentials, NATS_NKEY_SEED: nkeySeed, NATS_TOKEN: token } = config;
  const { NATS_USER: user, NATS_PASSWORD: pass } = config;
  if (credentials !== undefined) return { credentials };
  if (nkeySeed !== undefined) return { nkeySeed };
  if (token !== undefined) return { token };
  return user === undefined || pass === undefined ? undefined : { user, pass };
}

const pairs = [
  ['NATS_USER', 'NATS_PASSWORD'],
  ['NATS_TLS_CERT', 'NATS_TLS_KEY'],
] as const;

/** The kinds of login, each by its first setting. */
const logins = ['NATS_USER', 'NATS_TOKEN', 'NATS_NKEY_SEED', 'NATS_CREDENTIALS'] as const;

function problemsOfNats(settings: Settings): string[] {
  const given = (name: string): boolean => settings[name] !== undefined;
  const ways = [...(hasLogin(settings['NATS_URL']) ? ['NATS_URL'] : []), ...logins.filter(given)];
  return [
    ...(ways.length > 1 ? [`expected one login at NATS, got ${ways.join(' and ')}`] : []),
    ...pairs
      .filter((pair) => pair.filter(given).length === 1)
      .map((pair) => `expected ${pair.join(' and ')} together, got ${pair.filter(given).join()}`),
    ...(isOfPair(settings['NATS_TLS_CERT'], settings['NATS_TLS_KEY'])
      ? []
      : ['NATS_TLS_KEY: expected the key of NATS_TLS_CERT, got another']),
    ...(given('NATS_JETSTREAM_DOMAIN') && given('NATS_JETSTREAM_PREFIX')
      ? ['expected NATS_JETSTREAM_DOMAIN or NATS_JETSTREAM_PREFIX, got both']
      : []),
  ];
}

function hasLogin(url: unknown): boolean {
  const parsed = typeof url === 'string' ? parseNatsServers(url) : undefined;
  return parsed?.user !== undefined || parsed?.token !== undefined;
}

/** Whether the key fits the certificate; also true if one is missing or unreadable, which another check reports. */
function isOfPair(cert: unknown, key: unknown): boolean {
  if (typeof cert !== 'string' || typeof key !== 'string') return true;
  if (!isCertificates(cert) || !isPrivateKey(key)) return true;
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}
