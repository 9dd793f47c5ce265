// What a tool of the MCP server answers, also while the service falls silent.
import { expect, it } from 'vitest';
import { answerBytesMax, Answers, inJson } from '../../../loader/src/mcp/tool-answer.ts';

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(inJson(value)));

/** An entry of so many bytes, which consists of short texts, so that it is not cut before it is too large. */
function entryOf(bytes: number): object {
  const texts = Array.from({ length: 45 }, () => 'x'.repeat(400));
  const last = 'x'.repeat(bytes - bytesOf({ texts, last: '' }));
  return { texts, last };
}

/** How many entries each answer has, for ten answers at most. */
async function countsOf(...entries: object[]): Promise<number[]> {
  const answers = new Answers();
  async function* each(): AsyncGenerator<object, void, undefined> {
    yield* entries;
  }
  const counts: number[] = [];
  let text = await answers.begin('list_events', { entries: each() });
  for (;;) {
    const { entries: shown, more }: { entries: object[]; more?: string } = JSON.parse(
      text.split('\n')[3] ?? '',
    );
    counts.push(shown.length);
    if (more === undefined || counts.length === 10) return counts;
    text = await answers.more('list_events', more);
  }
}

it('answers of tools have each entry once, also an entry that just fits into an answer of its own', async () => {
  const bytesMax = answerBytesMax - 1_000 - bytesOf({});
  for (const bytes of [bytesMax - 2, bytesMax - 1, bytesMax, bytesMax + 1])
    expect([bytes, await countsOf(entryOf(bytes), { next: 1 })]).toEqual([
      bytes,
      bytes < bytesMax ? [1, 1] : [2],
    ]);
});

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
