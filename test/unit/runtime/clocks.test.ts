import { describe, expect, it } from 'vitest';
import { openClocks } from '../../../shared/runtime/src/bus/still-waiting.ts';

/** Our clock is a thousand ahead of theirs. */
function setUp() {
  let nowMs = 5_000;
  const clocks = openClocks(() => nowMs);
  const at = (ms: number) => {
    nowMs = ms;
    return clocks;
  };
  return { clocks, at };
}

describe('the clock of another process', () => {
  it('is unknown before the first message', () => {
    expect(setUp().clocks.read('other', 4_000)).toBeUndefined();
  });

  it('estimates when a message was sent, and never estimates a later time', () => {
    const { at } = setUp();
    // It was asked at 5,000, and what it answered came at 5,040: its clock said 4,020 somewhere in between.
    at(5_040).learn('other', 4_020, 5_000);
    expect(at(5_500).read('other', 4_420)).toBe(5_400);
    expect(at(5_500).read('another', 4_420)).toBeUndefined();
  });

  it('is estimated again after a while', () => {
    const { at } = setUp();
    at(5_000).learn('other', 4_000, 5_000);
    expect(at(35_000).read('other', 34_000)).toBe(35_000);
    expect(at(35_001).read('other', 34_000)).toBeUndefined();
  });

  it('is not used for a message whose time is in the future', () => {
    const { at } = setUp();
    at(5_000).learn('other', 4_000, 5_000);
    expect(at(6_000).read('other', 5_001)).toBeUndefined();
  });

  it('is forgotten for the oldest process once more than a thousand processes are known', () => {
    const { at } = setUp();
    for (let index = 0; index <= 1_000; index += 1) at(5_000).learn(`process ${index}`, 4_000, 5_000);
    expect(at(5_000).read('process 0', 4_000)).toBeUndefined();
    expect(at(5_000).read('process 1', 4_000)).toBe(5_000);
  });
});
