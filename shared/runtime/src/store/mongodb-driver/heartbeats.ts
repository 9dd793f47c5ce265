// Reconnects a client whose driver gets no heartbeats any more.
//
// Observed: the driver (mongodb 7.9.0) sends each server a heartbeat every second, on a connection of its own. If that connection
// is being closed at that moment, the driver waits for ever for a destroyed socket to drain. (All connections end at the same
// time, for example, while this process is frozen.) From then on the driver takes a running server for gone.
import type { MongoClient } from 'mongodb';

const tickMs = 1_000;
/** A heartbeat never ends if it has not ended in 6 s: two seconds to connect, two for the answer, one more on a slow server. */
const ticksMax = 6;

/** `renew` closes the client's connections; the next request opens new ones. */
export function watchHeartbeats(client: MongoClient, renew: () => void): Disposable {
  const ticksByServer = new Map<string, number>();
  client.on('serverHeartbeatStarted', ({ connectionId }) => void ticksByServer.set(connectionId, 0));
  client.on('serverHeartbeatSucceeded', ({ connectionId }) => void ticksByServer.delete(connectionId));
  client.on('serverHeartbeatFailed', ({ connectionId }) => void ticksByServer.delete(connectionId));
  client.on('serverClosed', ({ address }) => void ticksByServer.delete(address));

  // Ticks are counted, and no clock is read: a time in which this process was frozen counts as one tick.
  const ticks = setInterval(() => {
    for (const [server, count] of ticksByServer) ticksByServer.set(server, count + 1);
    if (Math.max(...ticksByServer.values()) <= ticksMax) return;
    ticksByServer.clear();
    renew();
  }, tickMs);
  return { [Symbol.dispose]: () => clearInterval(ticks) };
}
