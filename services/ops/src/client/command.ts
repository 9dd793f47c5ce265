// ops client: clients and their secrets in the file that AUTH_CLIENTS_FILE names.
import { resolve } from 'node:path';
import type { Client } from '@integration-sync/gateway/operating';
import { readConfig } from '@integration-sync/runtime/config';
import { defineCommand, exitCodes, Misuse } from '../command.ts';
import { ClientConfig } from '../config.ts';
import type { Output } from '../output.ts';
import {
  addClient,
  readEnd,
  removeClient,
  removeSecret,
  rotateSecret,
  type Change,
} from './client-changes.ts';
import { readFile, replaceFile } from './file.ts';

const help = `Usage: ops client add ID --integration ACME [--scope "SCOPE …"] [--ends 365d] [--json]
       ops client list [--json]
       ops client rotate ID [--old-end 7d] [--ends 365d] [--json]
       ops client remove ID [--secret NAME] [--json]

Clients of the gateway and their secrets, in the file that AUTH_CLIENTS_FILE names. The file is replaced whole, immediately
(there is no --apply), and holds hashes only: a secret is shown once. Every gateway reads the change within 10 s.

  add             makes a client with one secret; all scopes unless --scope says which
  list            says which clients there are, with the names of their secrets
  rotate          gives a client one more secret, and lets those before it end
  remove          removes a client, or with --secret one secret of it; tokens fetched with a removed secret end too

  --integration   whose records the client sees and changes
  --scope         what it may do, separated by spaces
  --ends          when the new secret ends: a span (365d, 12h, 30m) or a time. Never unless given
  --old-end       when the secrets before the new one end; 7d unless given, 0d for immediately
  --json          what was found or done as one JSON document, the new secret among it

Settings: AUTH_CLIENTS_FILE, as the gateway has it.

Examples:
  ops client add erp --integration acme --scope "integration:suppliers:write integration:products:write"
  ops client rotate erp --old-end 14d
  ops client remove erp --secret k3JvP0aQ
`;

type Values = Partial<Record<'integration' | 'scope' | 'ends' | 'old-end' | 'secret', string>>;

/** The options that each action takes, beside --json. */
const actions: Readonly<Record<string, readonly string[]>> = {
  add: ['integration', 'scope', 'ends'],
  list: [],
  rotate: ['old-end', 'ends'],
  remove: ['secret'],
};

export const clientCommand = defineCommand({
  name: 'client',
  summary: 'clients of the gateway and their secrets: add, list, rotate, remove',
  help,
  options: {
    integration: { type: 'string' },
    scope: { type: 'string' },
    ends: { type: 'string' },
    'old-end': { type: 'string' },
    secret: { type: 'string' },
  },
  allowPositionals: true,
  async run({ values, positionals, environment, output }) {
    const [action = '', id, ...others] = positionals;
    const taken = Object.hasOwn(actions, action) ? actions[action] : undefined;
    if (taken === undefined) throw new Misuse('Say what to do: add, list, rotate or remove.');
    for (const [name, value] of Object.entries(values)) {
      if (value !== false && name !== 'json' && !taken.includes(name)) {
        throw new Misuse(`--${name} does not go with ops client ${action}.`);
      }
    }
    const path = resolve(readConfig(ClientConfig, environment).AUTH_CLIENTS_FILE);
    const before = await readFile(path);
    if (action === 'list') {
      if (id !== undefined) throw new Misuse('ops client list takes no id.');
      show(before.clients, path, output);
      return exitCodes.well;
    }
    if (id === undefined || others.length > 0) throw new Misuse('Name one client.');
    const change = changeOf(action, id, values, before.clients);
    await replaceFile(path, before, change.clients);
    say(action, change, path, output);
    return exitCodes.well;
  },
});

function changeOf(action: string, id: string, values: Values, clients: readonly Client[]): Change {
  const nowMs = Date.now();
  const endsAtMs = values.ends === undefined ? Infinity : readEnd('--ends', values.ends, nowMs);
  if (action === 'add') {
    const { integration, scope } = values;
    if (integration === undefined) throw new Misuse('Say whose client it is: --integration acme.');
    return addClient(clients, id, { integration, scope, endsAtMs });
  }
  if (action === 'rotate') {
    const oldEndAtMs = readEnd('--old-end', values['old-end'] ?? '7d', nowMs);
    return rotateSecret(clients, id, { oldEndAtMs, endsAtMs, nowMs });
  }
  return values.secret === undefined ? removeClient(clients, id) : removeSecret(clients, id, values.secret);
}

function show(clients: readonly Client[], path: string, output: Output): void {
  const facts = clients.map(factsOf);
  output.give({ file: path, clients: facts });
  if (clients.length === 0) output.say(`There is no client in ${path}.`);
  const rows = facts.flatMap(({ id, integration, scopes, secrets }) => {
    const shown = secrets.length === 0 ? [{ name: 'none', endsAt: '' }] : secrets;
    return shown.map(({ name, endsAt }) => [id, integration, scopes.length, name, endsAt]);
  });
  if (rows.length > 0) output.table(['CLIENT', 'INTEGRATION', 'SCOPES', 'SECRET', 'ENDS'], rows);
}

/** The facts of a client that are printed, without hashes. */
const factsOf = ({ id, integration, scopes, secrets }: Client) => ({
  id,
  integration,
  scopes,
  secrets: secrets.map(({ name = 'without a name', endsAtMs }) => ({
    name,
    endsAt: endsAtMs === Infinity ? 'never' : new Date(endsAtMs).toISOString(),
  })),
});

function say(action: string, { client, secret }: Change, path: string, output: Output): void {
  output.give({ file: path, ...factsOf(client), ...(secret === undefined ? {} : { secret }) });
  if (secret === undefined) {
    output.say(`Removed from ${path}. Within 10 s every gateway refuses what was removed.`);
    return;
  }
  output.say(`${secret}\n`);
  output.say(
    `The ${action === 'add' ? 'secret' : 'new secret'} of ${client.id}, shown this once. The secret is an API key and a client_secret.`,
  );
  for (const { name, endsAt } of factsOf(client).secrets.slice(1))
    output.say(`The secret ${name} ends at ${endsAt}.`);
  output.say(`Every gateway with AUTH_CLIENTS_FILE=${path} takes the secret within 10 s.`);
}
