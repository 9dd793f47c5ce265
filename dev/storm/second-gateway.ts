// `gateway-2.json`: where the second gateway is, which is not the stack's own, so that `stack.json` does not have it.
import { join } from 'node:path';
import { readJson } from '../process/files.ts';

export interface SecondGateway {
  url: string;
  /** Absent while the second gateway is dead. */
  pid?: number;
}

export const secondGatewayOf = (folder: string): string => join(folder, 'gateway-2.json');

const isSecondGateway = (value: unknown): value is SecondGateway =>
  typeof value === 'object' && value !== null && 'url' in value;

export function readSecondGateway(folder: string): SecondGateway | undefined {
  const value = readJson(secondGatewayOf(folder));
  return isSecondGateway(value) ? value : undefined;
}
