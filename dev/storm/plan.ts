// `storm.json`: what every process of a storm has to know; its starter writes it once before they start.
import { join } from 'node:path';
import { readJson, writeJson } from '../process/files.ts';
import { profiles, type Profile, type ProfileName } from './profile.ts';

export interface StormPlan {
  seed: number;
  seconds: number;
  profile: ProfileName;
  /** The addresses of two gateways, each of which takes any request. */
  gateways: readonly [string, string];
  authSecret: string;
  nats: string;
  mongodb: string;
  database: string;
  /** Faults may strike only what this process started. */
  stackPid: number;
}

const pathOf = (folder: string): string => join(folder, 'storm.json');
const isPlan = (value: unknown): value is StormPlan =>
  typeof value === 'object' && value !== null && 'seed' in value && 'gateways' in value;

export const stackFolderOf = (folder: string): string => join(folder, 'stack');

export function writePlan(folder: string, plan: StormPlan): void {
  writeJson(pathOf(folder), plan, 0o600);
}

export function readPlan(folder: string): StormPlan & { rules: Profile } {
  const plan = readJson(pathOf(folder));
  if (!isPlan(plan)) throw new RangeError(`${folder} is no folder of a storm`);
  return { ...plan, rules: profiles[plan.profile] };
}

export const hasPlan = (folder: string): boolean => isPlan(readJson(pathOf(folder)));
