import { describe, expect, it } from 'vitest';
import { openDamper, readLine } from '../../../dev/stack/lines.ts';

describe('a line of a service', () => {
  it('is not for the screen while all is well', () => {
    expect(readLine('{"level":"info","msg":"pushed","items":3}')).toMatchObject({ isTrouble: false });
  });

  it.each(['warn', 'error', 'fatal'])('is for the screen at level %s, with its cause', (level) => {
    const line = JSON.stringify({ level, msg: 'no delivery', err: { message: 'refused' } });
    expect(readLine(line)).toStrictEqual({ text: `${level}: no delivery: refused`, isTrouble: true });
  });

  it('says which request or stream it is about, and leaves the rest to the log', () => {
    const line =
      '{"level":"warn","route":"/readyz","status":503,"method":"GET","durationMs":22.3,"msg":"request"}';
    expect(readLine(line)).toMatchObject({ text: 'warn: request GET /readyz 503' });
  });

  it('is for the screen as it is when it is no log line', () => {
    expect(readLine('catalog cannot start:')).toStrictEqual({
      text: 'catalog cannot start:',
      isTrouble: true,
    });
    expect(readLine('{"level":"warn",')).toStrictEqual({ text: '{"level":"warn",', isTrouble: true });
  });

  it('tells where the metrics are', () => {
    const line = '{"level":"info","msg":"serving","metrics":"http://127.0.0.1:9464/metrics"}';
    expect(readLine(line)).toMatchObject({ metrics: 'http://127.0.0.1:9464/metrics' });
  });
});

describe('the same words', () => {
  it('are let through again only after the quiet time, and others meanwhile', () => {
    let now = 0;
    const isNews = openDamper(1_000, () => now);
    expect(isNews('MongoDB is away')).toBe(true);
    now = 999;
    expect(isNews('MongoDB is away')).toBe(false);
    expect(isNews('NATS is away')).toBe(true);
    now = 1_000;
    expect(isNews('MongoDB is away')).toBe(true);
  });
});
