// How much memory each service held at most.
import type { MemoryLine } from '../lines.ts';
import type { Report } from './violations.ts';

export const memoryMbMax = 512;

export function mostMemory(lines: readonly MemoryLine[]): Map<string, number> {
  const most = new Map<string, number>();
  for (const { service, mb } of lines) most.set(service, Math.max(mb, most.get(service) ?? 0));
  return most;
}

export function checkMemory(lines: readonly MemoryLine[], report: Report): void {
  for (const [service, mb] of mostMemory(lines)) {
    if (mb > memoryMbMax) {
      report({ class: 'memory', what: `${service} held ${mb.toFixed(0)} MB; ${memoryMbMax} MB are allowed` });
    }
  }
}
