// A customer whose keys are rotated: the operator adds a key to the file of clients, and removes the former one; the customer
// pushes with both.
import { allScopes } from '@integration-sync/contracts';
import { hashOf, makeSecret } from '@integration-sync/gateway/operating';
import { writeJson } from '../../process/files.ts';
import { clockMs } from '../ledger.ts';
import type { Customer } from './customer.ts';

const askEveryMs = [600, 1_400] as const;
/** The length of a round: a new key serves within 10 s, and a removed key ends within 10 s. */
const roundMs = 13_000;

export async function rotateKeys(customer: Customer, clientsFile: string): Promise<void> {
  const { integration, stopped, note } = customer;
  const client = { id: 'storm', integration, scope: allScopes.join(' ') };
  let former = makeSecret();
  const write = (...keys: { name: string; secret: string }[]): void => {
    const secrets = keys.map(({ name, secret }) => ({ name, sha256: hashOf(secret) }));
    const begunMs = clockMs();
    writeJson(clientsFile, [{ ...client, secrets }], 0o600);
    const sent = keys.map(({ name }) => name);
    note({ method: 'WRITE', path: 'clients', sent, begunMs, endedMs: clockMs(), outcome: 200 });
  };
  const askFor = async (ms: number, ...keys: { name: string; secret: string }[]): Promise<void> => {
    for (const endMs = clockMs() + ms; clockMs() < endMs && !stopped.aborted;) {
      for (const { name: sent, secret: key } of keys) {
        for (const gateway of [0, 1]) {
          const { outcome, begunMs, endedMs } = await customer.ask(
            { method: 'POST', path: '/suppliers', body: { suppliers: [] }, key, gateway },
            () => ({}),
          );
          note({ method: 'POST', path: '/suppliers', sent, begunMs, endedMs, outcome });
        }
      }
      await customer.pause(askEveryMs);
    }
  };
  write(former);
  while (!stopped.aborted) {
    const key = makeSecret();
    write(former, key);
    await askFor(roundMs / 4, former, key);
    write(key);
    await askFor(roundMs, former, key);
    former = key;
  }
}
