// How soon another replica of webhooks goes on where one was killed.
import { expect } from 'vitest';
import type { Hit } from './receiver.ts';

export const takeoverS = 5;

/** By `awake()`. */
export const expectTakenOver = (hits: readonly Hit[], beganMs: number): void =>
  expect((hits.at(-1)?.awakeMs ?? Infinity) - beganMs).toBeLessThan(takeoverS * 1_000);
