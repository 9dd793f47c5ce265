// Takes the folder and the port of a stack, and finds the address of its gateway.
import { join } from 'node:path';
import type { Environment } from '../engines/environment.ts';
import { endLeftovers, openLedger, type Ledger } from '../process/ledger.ts';
import { lockOwner, takeLock } from '../process/lock.ts';
import { findPort, isPortFree, localUrl } from '../process/port.ts';
import { messageOf } from '../process/words.ts';
import { readFacts, removeFacts } from './facts.ts';
import { StartFailure } from './failure.ts';

const loopback = '127.0.0.1';

export const lockOf = (folder: string): string => join(folder, 'stack.lock');

/** From here on this stack alone uses the folder, and no process of a killed stack runs any more. */
export async function takeFolder(
  folder: string,
  say: (line: string) => void,
  starting: AsyncDisposableStack,
): Promise<Ledger> {
  const lock = takeLock(lockOf(folder));
  if (lock === undefined) {
    const where = readFacts(folder)?.gateway ?? 'starting or stopping';
    throw new StartFailure(
      `A local stack is running already (process ${lockOwner(lockOf(folder)) ?? '?'}, ${where}).\n` +
        'Stop it with Ctrl-C in its terminal, or use it: npm run service -- catalog adds a replica.',
    );
  }
  starting.use(lock);
  removeFacts(folder);
  const path = join(folder, 'services.json');
  const ended = await endLeftovers(path);
  if (ended.length > 0) say(`ended what a killed stack left behind: ${ended.join(', ')}`);
  const ledger = openLedger(path);
  starting.defer(() => ledger.close());
  return ledger;
}

/** Chooses the gateway's port before the stack starts anything, because a start may take minutes. */
export async function chooseGatewayPort(environment: Environment): Promise<number> {
  const port = Number(environment['GATEWAY_PORT'] || 8_080);
  if (port === 0) return findPort();
  const host = environment['GATEWAY_HOST'] || loopback;
  const isFree = await isPortFree(port, host).catch((cause: unknown) => {
    throw new StartFailure(
      `GATEWAY_HOST, GATEWAY_PORT: cannot listen on ${host}, port ${port} (${messageOf(cause)}).`,
    );
  });
  if (isFree) return port;
  throw new StartFailure(
    `Port ${port} is taken. Stop what listens there, or take another one: GATEWAY_PORT=${port + 1} npm start`,
  );
}

export const gatewayUrl = (environment: Environment, port: number): string =>
  localUrl(environment['GATEWAY_HOST'] || loopback, port);
