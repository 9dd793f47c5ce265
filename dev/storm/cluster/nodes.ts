// The nodes of a storm's cluster: which are whole, and which leads what. A node that follows goes on naming a leader that has died,
// so only a node that names itself is believed.
import type { Node } from '../plan.ts';

/** The cluster itself, and the streams on the way of an event. */
export const assets = ['meta', 'EVENTS', 'EVENT_BATCHES'] as const;
export type Asset = (typeof assets)[number];

interface Led {
  name: string;
  cluster?: { leader?: string };
}

interface JetStreamFacts {
  meta_cluster?: { leader?: string };
  account_details?: { stream_detail?: Led[] }[];
}

const answerWithinMs = 2_000;

export type Leaders = ReadonlyMap<Asset, string>;

export interface Found {
  leaders: Leaders;
  /** Whether every node that runs has answered, so that what has no leader here has none. */
  isComplete: boolean;
}

export async function findLeaders(nodes: readonly Node[]): Promise<Found> {
  const found = await Promise.all(nodes.filter(({ pid }) => pid !== undefined).map(ledBy));
  return {
    leaders: new Map(found.flatMap((led) => led ?? [])),
    isComplete: found.every((led) => led !== undefined),
  };
}

/** The assets that the node leads; undefined if the node does not answer. */
async function ledBy({ name, monitorUrl }: Node): Promise<[Asset, string][] | undefined> {
  const facts = await askNode(monitorUrl);
  if (facts === undefined) return undefined;
  const streams = facts.account_details?.flatMap(({ stream_detail: details = [] }) => details) ?? [];
  const named = new Map(streams.map((led) => [led.name, led.cluster?.leader]));
  named.set('meta', facts.meta_cluster?.leader);
  return assets.filter((asset) => named.get(asset) === name).map((asset) => [asset, name]);
}

async function askNode(monitorUrl: string): Promise<JetStreamFacts | undefined> {
  try {
    const url = new URL('/jsz?accounts=true&streams=true', monitorUrl);
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerWithinMs) });
    const facts: JetStreamFacts = JSON.parse(await answer.text());
    return facts;
  } catch {
    // The node is frozen, or has died meanwhile.
    return undefined;
  }
}

/** Whether the node runs and has caught up with the others, by its /healthz. */
export async function isWhole({ monitorUrl }: Node): Promise<boolean> {
  try {
    const { status } = await fetch(new URL('/healthz', monitorUrl), { signal: AbortSignal.timeout(1_000) });
    return status === 200;
  } catch {
    return false;
  }
}
