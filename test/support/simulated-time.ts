// Time in unit tests: it stands still while code runs, and leaps to the next timer as soon as nothing else is to be done.
// Whoever waits a second there waits for nothing, and what is measured is what was waited for and not what the machine had
// to do meanwhile.
import { afterEach, beforeEach, vi } from 'vitest';

// `setImmediate` stays real: tests of what gives way count the turns of the event loop.
const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const;

beforeEach(() => {
  vi.useFakeTimers({ toFake: [...toFake], fakeNodeBuiltins: true }).setTimerTickMode('nextTimerAsync');
});
afterEach(() => void vi.useRealTimers());
