// Ports that this process finds for what it starts.
import { afterEach, expect, it, vi } from 'vitest';
import { findPort } from '@integration-sync/dev/port';

const firstOfWorker = Number(process.env['LOCAL_PORTS']?.split('-')[0]);

afterEach(() => vi.unstubAllEnvs());

it('a test run gets different ports from its own range, before a process listens on any of them', async () => {
  // Each of two tries takes 25.
  const last = firstOfWorker + 79;
  vi.stubEnv('LOCAL_PORTS', `${firstOfWorker}-${last}`);
  const ports = await Promise.all(Array.from({ length: 25 }, () => findPort()));
  expect(new Set(ports).size).toBe(25);
  expect(Math.min(...ports)).toBeGreaterThanOrEqual(firstOfWorker);
  expect(Math.max(...ports)).toBeLessThanOrEqual(last);
});
