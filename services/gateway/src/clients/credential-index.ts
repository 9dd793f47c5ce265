// The credentials of one content of the file, found by hash, by client, and by what a token says. What a look-up costs does not
// depend on how many clients there are. clients.ts uses them for API keys and at the token endpoint; access.ts decides which of the two
// a bearer is. A changed file makes new credentials, which take over what the old ones counted.
import { TokenRefused, type Caller } from '../tokens/claims.ts';
import type { Client } from './clients-file.ts';
import { hashOf, readSecretName, secretIdOf } from './secret.ts';

export interface Credential {
  readonly client: Client;
  /** As tokens name it. */
  readonly id: string;
  readonly endsAtMs: number;
  /** All that the client may do, as the file has it. */
  readonly scope: string;
  /** Where the file does not say what names the secret, its `key` is unknown until it is used. */
  caller: Caller;
  uses: number;
}

export interface Credentials {
  readonly all: readonly Credential[];
  readonly clients: ReadonlyMap<string, Client>;
  /** Throws `TokenRefused` where no secret of the file is this one, or where it has ended. */
  find(secret: string, nowMs: number): Credential;
  /** The one that fetched a token, if it is still there. */
  findById(id: string): Credential | undefined;
}

export function indexClients(clients: readonly Client[], before?: Credentials): Credentials {
  const byHash = new Map<string, Credential>();
  const byId = new Map<string, Credential>();
  for (const client of clients) {
    const scopes: ReadonlySet<string> = new Set(client.scopes);
    for (const { sha256, name, endsAtMs } of client.secrets) {
      const id = secretIdOf(sha256);
      const old = before?.findById(id);
      const known = old?.client.id === client.id ? old : undefined;
      const credential: Credential = {
        client,
        id,
        endsAtMs,
        scope: client.scopes.join(' '),
        caller: {
          integration: client.integration,
          scopes,
          client: client.id,
          key: name ?? known?.caller.key,
          keyEndsAtMs: endsAtMs,
        },
        uses: known?.uses ?? 0,
      };
      byHash.set(sha256, credential);
      byId.set(id, credential);
    }
  }
  /** Secrets that were sent and are good, so that a request costs no hash; there are no more than credentials. */
  const sent = new Map<string, Credential>();

  const findNew = (secret: string): Credential => {
    const name = readSecretName(secret);
    if (name === undefined)
      throw new TokenRefused('the key has another form, or its checksum does not match');
    const credential = byHash.get(hashOf(secret));
    if (credential === undefined) throw new TokenRefused(`no client has the key ${name}`);
    credential.caller = { ...credential.caller, key: name };
    sent.set(secret, credential);
    return credential;
  };

  return {
    all: [...byHash.values()],
    clients: new Map(clients.map((client) => [client.id, client])),
    find(secret, nowMs) {
      const credential = sent.get(secret) ?? findNew(secret);
      if (credential.endsAtMs <= nowMs) {
        const { client, key } = credential.caller;
        throw new TokenRefused(`the key ${key} of the client ${client} has ended`);
      }
      return credential;
    },
    findById: (id) => byId.get(id),
  };
}
