// Ports on this machine: of 127.0.0.1, unless another address is named.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, isIPv6, type ListenOptions, type Server } from 'node:net';

const loopback = '127.0.0.1';

/** Ports below the range of ephemeral ports, which the system may give to any connection at any moment. */
const allPorts = '15000-31999';
const triesMax = 1_000;

/** Ports that were found before: a port looks free until its finder listens there, which may be minutes later. */
const looked = new Set<number>();

/** Throws for an error other than a taken port, such as an unknown host. */
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

/**
 * The wished port if it is free, else a free port that this process has not tried before. With LOCAL_PORTS, the port is among
 * these, so that processes which start engines beside each other do not take ports of each other's dead engines.
 */
export async function findPort(wished?: number): Promise<number> {
  // An error at the wished port, such as a missing permission, need not occur at other ports.
  if (wished !== undefined && (await isPortFree(wished).catch(() => false))) return wished;
  const among = process.env['LOCAL_PORTS'] ?? allPorts;
  const [lowest = 0, highest = 0] = among.split('-').map(Number);
  for (let tries = 0; tries < triesMax; tries += 1) {
    const port = randomInt(lowest, highest + 1);
    if (looked.has(port)) continue;
    looked.add(port);
    if (await isPortFree(port).catch(() => false)) return port;
  }
  throw new Error(`no port of ${among} was found free`);
}

/** Has the server listen on loopback; resolves with its port. */
export async function listenOnLoopback(server: Server, port = 0, how: ListenOptions = {}): Promise<number> {
  server.listen({ ...how, port, host: loopback });
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server listens on no TCP port');
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

/** The address of a server for this machine. A server that listens on every address is found on loopback, too. */
export function localUrl(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '::') return `http://${loopback}:${port}`;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
