// `storm.json`: options and addresses for every process of a storm. The starter writes the options, the stack the addresses.
import { join } from 'node:path';
import { readJson, writeJson } from '../process/files.ts';
import type { Target } from './fault.ts';
import { profiles, type Profile, type ProfileName } from './profile.ts';

export interface Chosen {
  seed: number;
  seconds: number;
  profile: ProfileName;
}

export interface StormPlan extends Chosen {
  /** The addresses of two gateways, each of which takes any request. */
  gateways: readonly [string, string];
  authSecret: string;
  nats: string;
  mongodb: string;
  database: string;
  /** The process of the stack: faults strike only processes that it started. */
  stackPid: number;
}

const pathOf = (folder: string): string => join(folder, 'storm.json');
const isChosen = (value: unknown): value is Chosen =>
  typeof value === 'object' && value !== null && 'seed' in value;
const isPlan = (chosen: Chosen): chosen is StormPlan => 'gateways' in chosen;

export const stackFolderOf = (folder: string): string => join(folder, 'stack');

export const writePlan = (folder: string, plan: Chosen | StormPlan): void =>
  writeJson(pathOf(folder), plan, 0o600);

export function readChosen(folder: string): Chosen {
  const chosen = readJson(pathOf(folder));
  if (!isChosen(chosen)) throw new RangeError(`${folder} is no folder of a storm`);
  return chosen;
}

export function readPlan(folder: string): StormPlan & { rules: Profile } {
  const plan = readChosen(folder);
  if (!isPlan(plan)) throw new RangeError(`the storm of ${folder} ended before its stack was ready`);
  return { ...plan, rules: profiles[plan.profile] };
}

/** `live.json`: running processes that the stack's own list lacks. The process of the stack writes it. */
export interface Live {
  /** The address of the second gateway. */
  url: string;
  /** The processes beside those of the stack. */
  pids: Partial<Record<Target, number[]>>;
  nodes: readonly Node[];
}

/** A node of the cluster; without a pid while it is dead. */
export interface Node {
  name: string;
  monitorUrl: string;
  pid?: number | undefined;
}

const livePathOf = (folder: string): string => join(folder, 'live.json');
const isLive = (value: unknown): value is Live =>
  typeof value === 'object' && value !== null && 'nodes' in value;

export const writeLive = (folder: string, live: Live): void => writeJson(livePathOf(folder), live);

export function readLive(folder: string): Live {
  const live = readJson(livePathOf(folder));
  return isLive(live) ? live : { url: '', pids: {}, nodes: [] };
}
