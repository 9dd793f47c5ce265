// Within how many seconds another replica of webhooks takes over from a killed one.
import { expect } from 'vitest';
import type { Hit } from './receiver.ts';

export const takeoverS = 5;

/** Expects the last hit in time; `beganMs` is by `awake()`. */
export const expectTakenOver = (hits: readonly Hit[], beganMs: number): void =>
  expect((hits.at(-1)?.awakeMs ?? Infinity) - beganMs).toBeLessThan(takeoverS * 1_000);
