// Ports on this machine: of 127.0.0.1, unless another address is named.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';

const loopback = '127.0.0.1';

/** Throws where it is not the port that is in the way: a name that is nobody's, an address of another machine. */
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

/** The wished one where it is free, else any. */
export async function findPort(wished?: number): Promise<number> {
  // Whatever is in the way of the wished one is not in the way of others.
  if (wished !== undefined && (await isPortFree(wished).catch(() => false))) return wished;
  const server = createServer();
  server.listen({ host: loopback, port: 0 });
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
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
