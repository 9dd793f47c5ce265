// Which server of a cluster comes next when one is lost.
//
// Observed: the client (@nats-io/nats-core 3.4.0) by itself begins with the server that it has just lost. One that stands still
// takes two seconds more.
import type { Server } from '@nats-io/nats-core';

export const dialledLongestAgo = (servers: readonly Server[]): Server | null =>
  servers.reduce<Server | null>(
    (longest, one) => (longest === null || one.lastConnect < longest.lastConnect ? one : longest),
    null,
  );
