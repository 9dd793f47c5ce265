// What a tool of the MCP server answers while the service falls silent.
import { expect, it } from 'vitest';
import { Answers } from '../../../loader/src/mcp/tool-answer.ts';

/** Two entries, the second as late as a caller has the service answer. */
function lateListing() {
  const { promise, resolve, reject } = Promise.withResolvers<object>();
  async function* entries(): AsyncGenerator<object, void, undefined> {
    yield { id: 1 };
    yield await promise;
  }
  return { found: { entries: entries() }, resolve, reject };
}

it('a call ends after 20 s with the results so far, and more goes on behind them', async () => {
  const { found, resolve } = lateListing();
  const answers = new Answers();
  const begunAt = Date.now();
  expect(await answers.begin('list_runs', found)).toContain('\n{"entries":[{"id":1}],"more":"m1"}\n');
  expect(Date.now() - begunAt).toBe(20_000);
  resolve({ id: 2 });
  expect(await answers.more('list_runs', 'm1')).toContain('\n{"entries":[{"id":2}]}\n');
});

it('more says why the service did not answer, and a call without results waits for that', async () => {
  const { found, reject } = lateListing();
  const answers = new Answers();
  await answers.begin('list_runs', found);
  const rest = answers.more('list_runs', 'm1');
  setTimeout(() => reject(new Error('silent')), 30_000);
  await expect(rest).rejects.toThrow('silent');
});
