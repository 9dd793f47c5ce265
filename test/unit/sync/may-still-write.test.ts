import { describe, expect, it } from 'vitest';
import { openPermission } from '../../../shared/sync/src/pushing/may-still-write.ts';

/** A caller that waits until `givesUpAtMs`, promised to until `promisedUntilMs`, and is asked over a line that takes `tripMs`. */
function setUp({
  promisedUntilMs = 500,
  givesUpAtMs = Infinity,
  saysSoAtMs = Infinity,
  beganAtMs = 0,
  tripMs = [0],
}: {
  promisedUntilMs?: number;
  givesUpAtMs?: number;
  saysSoAtMs?: number;
  beganAtMs?: number;
  tripMs?: number[];
} = {}) {
  let nowMs = beganAtMs;
  const askedAtMs: number[] = [];
  const trips = [...tripMs];
  const permission = openPermission(
    {
      get waitedForUntilMs() {
        return nowMs >= saysSoAtMs ? -Infinity : promisedUntilMs;
      },
      isWaitedFor() {
        askedAtMs.push(nowMs);
        const waits = nowMs < givesUpAtMs;
        nowMs += trips.shift() ?? 0;
        return Promise.resolve(waits);
      },
    },
    () => nowMs,
  );
  const at = async (ms: number, act: (allowed: typeof permission) => Promise<void>): Promise<string> => {
    nowMs = ms;
    return act(permission).then(
      () => 'yes',
      (error: unknown) => (error instanceof Error ? error.message : 'no error'),
    );
  };
  return { at, askedAtMs };
}

const refused = expect.stringContaining('no longer waits');

describe('before a write, a replica asks whether the caller of the push still waits,', () => {
  it('but not before the time until which the caller promised to wait', async () => {
    const { at, askedAtMs } = setUp({ givesUpAtMs: 510 });
    expect(await at(90, (permission) => permission.confirm())).toBe('yes');
    expect(await at(500, (permission) => permission.renewUnlessPromised())).toBe('yes');
    expect(askedAtMs).toEqual([]);
    expect(await at(520, (permission) => permission.renewUnlessPromised())).toEqual(refused);
    expect(askedAtMs).toEqual([520]);
  });

  it('also before the promised time once the caller says that it no longer waits', async () => {
    const { at } = setUp({ givesUpAtMs: 200, saysSoAtMs: 201 });
    expect(await at(200, (permission) => permission.renewUnlessPromised())).toBe('yes');
    expect(await at(201, (permission) => permission.renewUnlessPromised())).toEqual(refused);
  });

  it('also before the promised time where the push waited before it began', async () => {
    const { at } = setUp({ beganAtMs: 101, givesUpAtMs: 50 });
    expect(await at(101, (permission) => permission.confirm())).toEqual(refused);
  });

  it('but not within a second after the last confirmation by the caller', async () => {
    const { at, askedAtMs } = setUp({ givesUpAtMs: 2_000 });
    expect(await at(950, (permission) => permission.confirm())).toBe('yes');
    expect(await at(1_900, (permission) => permission.confirm())).toBe('yes');
    expect(await at(2_100, (permission) => permission.confirm())).toEqual(refused);
    expect(askedAtMs).toEqual([950, 2_100]);
  });

  it('on renewUnlessPromised() after the promised time, although the last confirmation is recent', async () => {
    const { at, askedAtMs } = setUp({ givesUpAtMs: 950 });
    expect(await at(900, (permission) => permission.confirm())).toBe('yes');
    expect(await at(960, (permission) => permission.renewUnlessPromised())).toEqual(refused);
    expect(askedAtMs).toEqual([900, 960]);
  });

  it('and asks again where the confirmation is old when the replica reads it', async () => {
    const { at, askedAtMs } = setUp({ givesUpAtMs: 5_000, tripMs: [10_000] });
    expect(await at(4_000, (permission) => permission.confirm())).toEqual(refused);
    expect(askedAtMs).toEqual([4_000, 14_000]);
  });

  it('and writes although the confirmation takes two seconds', async () => {
    const { at, askedAtMs } = setUp({ tripMs: [2_000] });
    expect(await at(4_000, (permission) => permission.confirm())).toBe('yes');
    expect(askedAtMs).toEqual([4_000]);
  });

  it('on renew(), also before the promised time', async () => {
    const { at } = setUp({ givesUpAtMs: 5 });
    expect(await at(10, (permission) => permission.renew())).toEqual(refused);
  });

  it('but not where the caller cannot answer questions', async () => {
    const { at, askedAtMs } = setUp({ promisedUntilMs: Infinity, givesUpAtMs: 0 });
    expect(await at(9_000, (permission) => permission.confirm())).toBe('yes');
    expect(await at(9_000, (permission) => permission.renew())).toBe('yes');
    expect(askedAtMs).toEqual([]);
  });
});
