// Chooses the server of a cluster to which the client reconnects.
//
// Observed: the client (@nats-io/nats-core 3.4.0) by itself begins with the server that it has just lost. If that server is frozen,
// the reconnect takes two seconds more.
import type { Server } from '@nats-io/nats-core';

export const dialledLongestAgo = (servers: readonly Server[]): Server | null =>
  servers.reduce<Server | null>(
    (longest, one) => (longest === null || one.lastConnect < longest.lastConnect ? one : longest),
    null,
  );
