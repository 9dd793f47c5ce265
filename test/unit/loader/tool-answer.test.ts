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
