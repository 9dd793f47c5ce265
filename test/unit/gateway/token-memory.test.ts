import { expect, it } from 'vitest';
import { openTokenMemory } from '../../../services/gateway/src/tokens/tokens.ts';

const minuteMs = 60_000;
const far = 3_600_000;
const name = (at: number): string => String(at).padStart(1_000, '.');

it('the cache of tokens keeps a verified token until it expires, and for a minute at most', () => {
  const memory = openTokenMemory<string>();
  memory.remember('short', 'a', { nowMs: 0, expiresMs: 2_000 });
  memory.remember('long', 'b', { nowMs: 0, expiresMs: far });
  expect(memory.find('short', 1_999)).toBe('a');
  expect(memory.find('short', 2_000)).toBeUndefined();
  expect(memory.find('long', minuteMs - 1)).toBe('b');
  expect(memory.find('long', minuteMs)).toBeUndefined();
  expect(memory.find('unknown', 0)).toBeUndefined();
});

it('the cache of tokens keeps a token that was verified again for another minute', () => {
  const memory = openTokenMemory<string>();
  memory.remember('token', 'a', { nowMs: 0, expiresMs: far });
  memory.remember('token', 'b', { nowMs: minuteMs, expiresMs: far });
  expect(memory.find('token', minuteMs + 1)).toBe('b');
});

it('the cache of tokens drops a token that was verified after the present time, as the clock was set back', () => {
  const memory = openTokenMemory<string>();
  memory.remember('token', 'a', { nowMs: far, expiresMs: 2 * far });
  memory.remember('short', 'b', { nowMs: far, expiresMs: far + 2_000 });
  expect(memory.find('token', far)).toBe('a');
  expect(memory.find('token', 0)).toBeUndefined();
  expect(memory.find('short', 0)).toBeUndefined();
});

it('the cache of tokens drops expired tokens when new tokens are added', () => {
  const memory = openTokenMemory<number>();
  for (let at = 0; at < 600; at += 1) {
    memory.remember(`token ${at}`, at, { nowMs: at * 1_000, expiresMs: far });
  }
  expect(memory.size).toBeLessThanOrEqual(124);
});

it('the cache of tokens keeps the latest tokens up to a total number of characters', () => {
  const memory = openTokenMemory<number>(100 * 2_024);
  for (let at = 0; at < 10_000; at += 1) memory.remember(name(at), at, { nowMs: 0, expiresMs: far });
  expect(memory.size).toBeLessThanOrEqual(200);
  for (let at = 9_900; at < 10_000; at += 1) expect(memory.find(name(at), 1)).toBe(at);
  expect(memory.find(name(0), 1)).toBeUndefined();
});

it('the cache of tokens keeps a thousand tokens that are used repeatedly', () => {
  const memory = openTokenMemory<number>();
  for (let at = 0; at < 1_000; at += 1) memory.remember(name(at), at, { nowMs: 0, expiresMs: far });
  for (let at = 0; at < 1_000; at += 1) expect(memory.find(name(at), 1)).toBe(at);
});
