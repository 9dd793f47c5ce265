// The credentials of one content of the file of clients, by the hash of the secret and by the id in tokens. A changed file
// makes new credentials, which take over the counts of the old credentials.
import { TokenRefused, type Caller } from '../tokens/token-claims.ts';
import type { Client } from './clients-file.ts';
import { hashOf, readSecretName, secretIdOf } from './secret.ts';

export interface Credential {
  readonly client: Client;
  /** The id of the secret: tokens have it as the claim `secret_id`. */
  readonly id: string;
  readonly endsAtMs: number;
  /** All scopes of the client, separated by spaces, in the order of the file. */
  readonly scope: string;
  /** If the file has no name for the secret, `caller.key` is unknown until the first use. */
  caller: Caller;
  uses: number;
}

export interface Credentials {
  readonly all: readonly Credential[];
  readonly clients: ReadonlyMap<string, Client>;
  /** Throws `TokenRefused` for a secret that is not in the file, or has ended. */
  find(secret: string, nowMs: number): Credential;
  /** The credential that fetched a token, if the file still has its secret. */
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
  return {
    all: [...byHash.values()],
    clients: new Map(clients.map((client) => [client.id, client])),
    find(secret, nowMs) {
      const key = readSecretName(secret);
      if (key === undefined)
        throw new TokenRefused('the key is not of the form isk_…, or its checksum does not match');
      const credential = byHash.get(hashOf(secret));
      if (credential === undefined) throw new TokenRefused(`no client has the key ${key}`);
      credential.caller.key = key;
      const { client, endsAtMs } = credential;
      if (endsAtMs <= nowMs) throw new TokenRefused(`the key ${key} of the client ${client.id} has ended`);
      return credential;
    },
    findById: (id) => byId.get(id),
  };
}
