import { describe, expect, it } from 'vitest';
import { openDamper, readLine } from '../../../dev/stack/lines.ts';

describe('a log line of a service in the output of npm start', () => {
  it('is not printed at level info', () => {
    expect(readLine('{"level":"info","msg":"pushed","items":3}')).toMatchObject({ isTrouble: false });
  });

  it.each(['warn', 'error', 'fatal'])('is printed at level %s, with its cause', (level) => {
    const line = JSON.stringify({ level, msg: 'no delivery', err: { message: 'refused' } });
    expect(readLine(line)).toStrictEqual({ text: `${level}: no delivery: refused`, isTrouble: true });
  });

  it('is printed with its request or stream, and without its other fields', () => {
    const line =
      '{"level":"warn","route":"/readyz","status":503,"method":"GET","durationMs":22.3,"msg":"request"}';
    expect(readLine(line)).toMatchObject({ text: 'warn: request GET /readyz 503' });
  });

  it('is printed unchanged when it is no JSON', () => {
    expect(readLine('catalog cannot start:')).toStrictEqual({
      text: 'catalog cannot start:',
      isTrouble: true,
    });
    expect(readLine('{"level":"warn",')).toStrictEqual({ text: '{"level":"warn",', isTrouble: true });
  });

  it('has the address of the metrics', () => {
    const line = '{"level":"info","msg":"serving","metrics":"http://127.0.0.1:9464/metrics"}';
    expect(readLine(line)).toMatchObject({ metrics: 'http://127.0.0.1:9464/metrics' });
  });
});

describe('a repeated message in the output of npm start', () => {
  it('is printed again only after a pause, and does not hold back other messages', () => {
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
