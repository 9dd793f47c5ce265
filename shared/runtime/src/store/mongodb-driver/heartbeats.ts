// Makes a client connect again whose driver has gone deaf.
//
// Observed: the driver (mongodb 7.9.0) asks each server every second how it is, on a connection of its own. Where that connection
// is already being closed when it asks, as when all connections end at once while this process stands still, it waits for a
// destroyed socket to drain, for ever. From then on it takes the server for gone, though it answers everybody else.
import type { MongoClient } from 'mongodb';

const tickMs = 1_000;
/** Connecting and asking take the driver two seconds each at most, and one more where the server answers late. */
const ticksMax = 6;

/** `renew` ends the client's connections, and the next request makes new ones. */
export function watchHeartbeats(client: MongoClient, renew: () => void): Disposable {
  const ticksByServer = new Map<string, number>();
  client.on('serverHeartbeatStarted', ({ connectionId }) => void ticksByServer.set(connectionId, 0));
  client.on('serverHeartbeatSucceeded', ({ connectionId }) => void ticksByServer.delete(connectionId));
  client.on('serverHeartbeatFailed', ({ connectionId }) => void ticksByServer.delete(connectionId));
  client.on('serverClosed', ({ address }) => void ticksByServer.delete(address));

  // Counted, not timed: a time in which this process itself stood still counts as one tick.
  const ticks = setInterval(() => {
    for (const [server, count] of ticksByServer) ticksByServer.set(server, count + 1);
    if (Math.max(...ticksByServer.values()) <= ticksMax) return;
    ticksByServer.clear();
    renew();
  }, tickMs);
  return { [Symbol.dispose]: () => clearInterval(ticks) };
}
