import { readConfig, type ConfigError } from '@integration-sync/runtime/config';
import { expect, it } from 'vitest';
import { WebhooksConfig } from '../../../services/webhooks/src/config.ts';

const key = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
const right = { WEBHOOK_SECRET_KEY: `a:${key(1)}` };

function problemsOf(environment: Record<string, string>): string[] {
  try {
    readConfig(WebhooksConfig, environment);
  } catch (error) {
    return (error as ConfigError).message.split('\n');
  }
  return [];
}

it.each(['', ' ', '10.0.0.0/8', '127.0.0.1', '10.0.0.0/8, 127.0.0.1/32,', 'fd00::/8,::1'])(
  'the allow-list of addresses accepts %j',
  (list) => {
    expect(problemsOf({ ...right, WEBHOOK_EGRESS_ALLOW: list })).toEqual([]);
  },
);

it.each(['10.0.0.0/99', '10.0.0', 'fe80::/129', '::1,here', '10.0.0.0/', 'example.com', '10.0.0.0/8/8'])(
  'the allow-list of addresses refuses %j, and says what is expected',
  (list) => {
    expect(problemsOf({ ...right, WEBHOOK_EGRESS_ALLOW: list })).toEqual([
      `WEBHOOK_EGRESS_ALLOW: expected CIDRs separated by commas, such as 10.0.0.0/8,127.0.0.1/32, got ${JSON.stringify(list)}`,
    ]);
  },
);

it.each(['a', `a:${key(1).slice(2)}`, `:${key(1)}`, `a:${key(1)},a:${key(2)}`, `a:${key(1)},`])(
  'WEBHOOK_SECRET_KEY refuses %j without a quotation, beside all other problems',
  (keys) => {
    const problems = problemsOf({ WEBHOOK_SECRET_KEY: keys, WEBHOOK_EGRESS_ALLOW: 'here' });
    expect(problems).toEqual([
      `WEBHOOK_SECRET_KEY: expected \`id:key\`, or several separated by commas, each id once and each key the base64 of 32 bytes, got ${keys.length} characters that are not shown`,
      expect.stringContaining('WEBHOOK_EGRESS_ALLOW: expected'),
    ]);
  },
);
