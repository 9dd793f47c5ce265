// Turns the settings of the NATS login into options of the NATS client.
import {
  credsAuthenticator,
  nkeyAuthenticator,
  type Authenticator,
  type TlsOptions,
} from '@nats-io/nats-core';
import {
  ConfigError,
  parseNatsServers,
  type NatsLogin,
  type NatsOptions,
  type NatsServers,
} from '../config/index.ts';
import { asCredentials } from './nats-client/credentials.ts';

export interface Entrance extends Omit<NatsServers, 'tls'> {
  authenticator?: Authenticator;
  tls?: TlsOptions;
}

export function entranceOf({ url, login, tls }: Omit<NatsOptions, 'jetstream'>): Entrance {
  const addresses = parseNatsServers(url);
  if (addresses === undefined) throw new ConfigError(['NATS_URL: not an address of NATS']);
  return {
    ...addresses,
    ...(login === undefined ? {} : loginOf(login)),
    ...(tls === undefined ? {} : { tls }),
  };
}

function loginOf(login: NatsLogin): Pick<Entrance, 'user' | 'pass' | 'token' | 'authenticator'> {
  if ('credentials' in login) {
    return signing('NATS_CREDENTIALS', credsAuthenticator(asCredentials(login.credentials)));
  }
  if ('nkeySeed' in login) return signing('NATS_NKEY_SEED', nkeyAuthenticator(Buffer.from(login.nkeySeed)));
  return login;
}

/** Signs once as a test, because the NATS client gives up for good if the seed cannot sign. */
function signing(setting: string, authenticator: Authenticator): { authenticator: Authenticator } {
  try {
    authenticator('nonce');
  } catch (error) {
    // The error's own message may quote a part of the seed.
    throw new ConfigError([`${setting}: expected a seed that signs, got one that is damaged or cut off`], {
      cause: error,
    });
  }
  return { authenticator };
}
