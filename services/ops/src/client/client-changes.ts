// The changes that `ops client` makes to the list of clients from the file. No IO, except the random bytes of a secret.
import { allScopes, type Scope } from '@integration-sync/contracts';
import {
  hashOf,
  makeSecret,
  readInstant,
  type Client,
  type StoredSecret,
} from '@integration-sync/gateway/operating';
import { checkIntegration, Misuse, Refusal } from '../command.ts';

export interface Change {
  clients: Client[];
  client: Client;
  /** The new secret in plain text. The command shows it once: the file holds only its hash. */
  secret?: string;
}

export function addClient(
  clients: readonly Client[],
  id: string,
  { integration, scope, endsAtMs }: { integration: string; scope: string | undefined; endsAtMs: number },
): Change {
  if (!/^[!-~]{1,64}$/.test(id)) {
    throw new Misuse('An id is 1 to 64 printable characters of ASCII without a space.');
  }
  if (clients.some((client) => client.id === id)) {
    throw new Refusal(`There is a client ${id} already: ops client rotate ${id} gives it another secret.`);
  }
  checkIntegration(integration);
  const { secret, stored } = newSecret(endsAtMs);
  const client = { id, integration, scopes: readScopes(scope), secrets: [stored] };
  return { clients: [...clients, client], client, secret };
}

/** Puts a new secret first in the client's list. The older secrets end at `oldEndAtMs` at the latest. */
export function rotateSecret(
  clients: readonly Client[],
  id: string,
  { oldEndAtMs, endsAtMs, nowMs }: { oldEndAtMs: number; endsAtMs: number; nowMs: number },
): Change {
  const client = find(clients, id);
  const { secret, stored } = newSecret(endsAtMs);
  const old = client.secrets
    .map((one) => ({ ...one, endsAtMs: Math.min(one.endsAtMs, oldEndAtMs) }))
    .filter((one) => one.endsAtMs > nowMs);
  return { ...withSecrets(clients, client, [stored, ...old]), secret };
}

export function removeClient(clients: readonly Client[], id: string): Change {
  const client = find(clients, id);
  return { clients: clients.filter((one) => one !== client), client };
}

export function removeSecret(clients: readonly Client[], id: string, name: string): Change {
  const client = find(clients, id);
  const secrets = client.secrets.filter((one) => one.name !== name);
  if (secrets.length === client.secrets.length) {
    throw new Refusal(`The client ${id} has no secret ${name}: ops client list shows their names.`);
  }
  return withSecrets(clients, client, secrets);
}

function withSecrets(clients: readonly Client[], client: Client, secrets: StoredSecret[]): Change {
  const changed = { ...client, secrets };
  return { clients: clients.map((one) => (one === client ? changed : one)), client: changed };
}

function find(clients: readonly Client[], id: string): Client {
  const client = clients.find((one) => one.id === id);
  if (client === undefined) throw new Refusal(`There is no client ${id}: ops client list shows all clients.`);
  return client;
}

function newSecret(endsAtMs: number): { secret: string; stored: StoredSecret } {
  const { secret, name } = makeSecret();
  return { secret, stored: { name, sha256: hashOf(secret), endsAtMs } };
}

/** Reads the scopes of `--scope`; all scopes if the option is not given. */
function readScopes(scope: string | undefined): Scope[] {
  if (scope === undefined) return [...allScopes];
  const words = scope.split(' ').filter((word) => word !== '');
  const scopes = allScopes.filter((one) => words.includes(one));
  const unknown = words.filter((word) => !allScopes.some((one) => one === word));
  if (unknown.length > 0 || scopes.length === 0) {
    throw new Misuse(
      `--scope: there is no ${unknown.join(', ') || 'scope'}; there are ${allScopes.join(', ')}.`,
    );
  }
  return scopes;
}

const daysMax = 3_650;
const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

/** Reads the end of a secret: `14d`, `12h`, `30m`, or a time such as 2027-01-31T00:00:00Z. */
export function readEnd(option: string, text: string, nowMs: number): number {
  const { count, unit } = /^(?<count>\d{1,5})(?<unit>[dhm])$/.exec(text)?.groups ?? {};
  const ms =
    count === undefined ? undefined : Number(count) * unitMs[unit === 'd' ? 'd' : unit === 'h' ? 'h' : 'm'];
  const endsAtMs = ms === undefined ? readInstant(text) : nowMs + ms;
  if (endsAtMs !== undefined && endsAtMs >= nowMs && endsAtMs <= nowMs + daysMax * unitMs.d) return endsAtMs;
  throw new Misuse(
    `${option}: a span such as 14d or 12h, or a future time such as 2027-01-31T00:00:00Z; within ${daysMax}d.`,
  );
}
