import type { vi } from 'vitest';

/** What of time is simulated. `setImmediate` stays real: tests of code that yields count the turns of the event loop. */
export const faked = {
  toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
  fakeNodeBuiltins: true,
} satisfies Parameters<typeof vi.useFakeTimers>[0];
