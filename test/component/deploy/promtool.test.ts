// The rules as Prometheus itself reads them, where this machine has its promtool, and by Prometheus's grammar elsewhere.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { readRules, rulesPath, type Rule } from '../../support/deploy-files.ts';
import { parsePromql } from '../../support/promql.ts';

async function countLoaded(rules: readonly Rule[]): Promise<number> {
  try {
    const { stdout, stderr } = await promisify(execFile)('promtool', ['check', 'rules', rulesPath]);
    const [, count] = /SUCCESS: (\d+) rules found/.exec(stdout + stderr) ?? [];
    return Number(count);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    return rules.filter(({ expr }) => parsePromql(expr).wrongAt.length === 0).length;
  }
}

it('are loaded, every one', async () => {
  const rules = await readRules();
  expect(rules.length).toBeGreaterThan(10);
  expect(await countLoaded(rules)).toBe(rules.length);
});
