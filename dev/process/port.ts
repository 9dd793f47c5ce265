// Ports on this machine: of 127.0.0.1, unless another address is named.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const loopback = '127.0.0.1';

/** Below those that systems give to connections and to servers that name no port, and may give at any moment. */
const lowestPort = 15_000;
const highestPort = 31_999;
const triesMax = 1_000;

/** Throws where the port is not the cause: a name of no machine, an address of another machine. */
export async function isPortFree(port: number, host = loopback): Promise<boolean> {
  const server = createServer();
  server.listen({ host, port, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}

/** The wished port where it is free, else any. */
export async function findPort(wished?: number): Promise<number> {
  // Whatever blocks the wished port does not block other ports.
  if (wished !== undefined && (await isPortFree(wished).catch(() => false))) return wished;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const port = randomInt(lowestPort, highestPort + 1);
    if (await isPortFree(port).catch(() => false)) return port;
  }
  throw new Error(`no port from ${lowestPort} to ${highestPort} was found free`);
}

export async function isListening(port: number, host = loopback, withinMs = 2_000): Promise<boolean> {
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(withinMs) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
