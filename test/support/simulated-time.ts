// Time in unit tests: it stands still while code runs, and leaps to the next timer as soon as there is
// nothing else to do. Code that waits a second does not wait in fact, and a measured time is what the code
// waited, without what the machine had to do meanwhile.
import { afterEach, beforeEach, vi } from 'vitest';
import { faked } from './faked.ts';

beforeEach(() => {
  vi.useFakeTimers(faked).setTimerTickMode('nextTimerAsync');
});
afterEach(() => void vi.useRealTimers());
