// The nodes of a storm's cluster: which are healthy, and which node leads which stream. A follower goes on naming a dead leader, so
// only a node that names itself as leader is believed.
import type { Node } from '../plan.ts';

/** The assets with a leader: the meta group of the cluster, and the two streams that each event passes. */
export const assets = ['meta', 'EVENTS', 'EVENT_BATCHES'] as const;
export type Asset = (typeof assets)[number];

interface JetStreamFacts {
  meta_cluster?: { leader?: string };
  account_details?: { stream_detail?: { name: string; cluster?: { leader?: string } }[] }[];
}

export type Leaders = ReadonlyMap<Asset, string>;

/** `isComplete`: every running node has answered, so a stream that `leaders` lacks has no leader. */
export async function findLeaders(nodes: readonly Node[]) {
  const found = await Promise.all(nodes.filter(({ pid }) => pid !== undefined).map(ledBy));
  const leaders: Leaders = new Map(found.flatMap((led) => led ?? []));
  return { leaders, isComplete: found.every((led) => led !== undefined) };
}

/** The assets that the node leads; undefined if the node does not answer. */
async function ledBy(node: Node): Promise<[Asset, string][] | undefined> {
  const answer = await ask(node, '/jsz?accounts=true&streams=true', 2_000);
  if (answer === undefined) return undefined;
  const facts: JetStreamFacts = JSON.parse(answer.text);
  const streams = facts.account_details?.flatMap(({ stream_detail: details = [] }) => details) ?? [];
  const named = new Map(streams.map((led) => [led.name, led.cluster?.leader]));
  named.set('meta', facts.meta_cluster?.leader);
  return assets.filter((asset) => named.get(asset) === node.name).map((asset) => [asset, node.name]);
}

/** Whether all nodes run and have caught up with each other, by their /healthz. */
export async function areWhole(nodes: readonly Node[]): Promise<boolean> {
  const answers = await Promise.all(nodes.map((node) => ask(node, '/healthz', 1_000)));
  return answers.every((answer) => answer?.status === 200);
}

/** The node's answer; undefined if the node is frozen, or has died meanwhile. */
const ask = ({ monitorUrl }: Node, path: string, withinMs: number) =>
  fetch(new URL(path, monitorUrl), { signal: AbortSignal.timeout(withinMs) })
    .then(async (answer) => ({ status: answer.status, text: await answer.text() }))
    .catch(() => undefined);
