// The processes of a stack under the names that tables give them.
import type { Stack } from '../stack/index.ts';
import { caller, type Processes } from './cpu.ts';

export function processesOf(stack: Pick<Stack, 'pids'>): Processes {
  const { gateway = [], catalog = [], batches = [], webhooks = [], nats = [], mongodb = [] } = stack.pids();
  return { gateway, catalog, batches, webhooks, 'nats-server': nats, database: mongodb };
}

/** Those that take part in what the service does. */
export const ofService = ['gateway', 'catalog', 'batches', 'webhooks', 'nats-server', 'database', caller];
/** Those that take part in what a bare script does with the database. */
export const ofBareScript = ['database', caller];
