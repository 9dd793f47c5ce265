// Time in unit tests: it stands still while code runs, and leaps to the next timer as soon as there is
// nothing else to do. Code that waits a second does not wait in fact, and a measured time is what the code
// waited, without what the machine had to do meanwhile.
import { afterEach, beforeEach, vi } from 'vitest';

// `setImmediate` stays real: tests of code that yields count the turns of the event loop.
const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const;

beforeEach(() => {
  vi.useFakeTimers({ toFake: [...toFake], fakeNodeBuiltins: true }).setTimerTickMode('nextTimerAsync');
});
afterEach(() => void vi.useRealTimers());
