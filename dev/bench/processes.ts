// The pids of a stack's processes, under the names that tables show.
import type { Stack } from '../stack/index.ts';
import { caller, type Processes } from './cpu.ts';

export function processesOf(stack: Pick<Stack, 'pids'>): Processes {
  const { gateway = [], catalog = [], batches = [], webhooks = [], nats = [], mongodb = [] } = stack.pids();
  return { gateway, catalog, batches, webhooks, 'nats-server': nats, database: mongodb };
}

/** All processes that take part in a push or a listing, with those of MongoDB and NATS and the caller. */
export const ofService = ['gateway', 'catalog', 'batches', 'webhooks', 'nats-server', 'database', caller];
/** The processes that do the work of a bare script. */
export const ofBareScript = ['database', caller];
