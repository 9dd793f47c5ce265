// A customer of the public interface, who asks one thing after the other. The log has its requests and their answers.
import { setTimeout as wait } from 'node:timers/promises';
import { openStore } from '@integration-sync/runtime/store';
import { openRandom } from '../../fuzz/random.ts';
import { nextOf, openCaller, type Asked } from '../caller.ts';
import type { LedgerFile } from '../ledger.ts';
import type { AskLine } from '../lines.ts';
import { readPlan } from '../plan.ts';
import { within, type Span } from '../fault.ts';
import { folder, log as silent, stopped } from '../role.ts';

/** What the log keeps of an answer; `next` is the path of the next page, and `nextSince` the header X-Next-Since. */
export type Keep<Body, Kept> = (body: Body, next: string | undefined, nextSince: string) => Kept;

export const keepAll = (answer: object): object => answer;

type Company = Awaited<ReturnType<typeof openCompany>>;
export type Customer = ReturnType<Company['open']>;

const againMs = [200, 800] as const;
/** How often a customer asks: for longer than a fault lasts, which is a minute at most. */
const triesMax = 200;

/** Opens what the customers of one process share; `nth` makes their random numbers differ from those of other processes. */
export async function openCompany(nth: number, log: Pick<LedgerFile<AskLine>, 'write'>) {
  const plan = readPlan(folder);
  const { seed, mongodb: url, database } = plan;
  const random = openRandom(seed * 1_000 + nth);
  const store = await openStore({ url, database, log: silent });

  /** `by`: what the customer does, and its number: `feed 2`. */
  function open(by: string, integration: string) {
    const caller = openCaller(plan, integration);

    async function ask<Body, Kept>(asked: Asked, keep: Keep<Body, Kept>) {
      const { method = 'GET', path, body: sent } = asked;
      const given = await caller.ask({ gateway: random.integer(2), ...asked });
      const { outcome, begunMs, endedMs, body } = given;
      const isDone =
        typeof outcome === 'number' && (outcome < 300 || (method === 'DELETE' && outcome === 404));
      const parsed: Body = JSON.parse(isDone && body !== '' ? body : '{}');
      const answer = isDone ? keep(parsed, nextOf(given), String(given.headers['x-next-since'])) : undefined;
      return { by, integration, method, path, sent, begunMs, endedMs, outcome, answer };
    }

    return {
      by,
      integration,
      random,
      stopped,
      note: (line: Omit<AskLine, 'by' | 'integration'>): void => log.write({ by, integration, ...line }),
      ask,
      /** Asks until the service answers. The log has one line for all tries, which begins with the first request. */
      async insist<Body, Kept>(asked: Asked, keep: Keep<Body, Kept>): Promise<Kept> {
        for (let [firstMs, tries] = [Infinity, 1]; ; tries += 1) {
          const line = await ask(asked, keep);
          firstMs = Math.min(firstMs, line.begunMs);
          if (asksAgain(line) && tries < triesMax) {
            await wait(within(random, againMs));
            continue;
          }
          log.write({ ...line, begunMs: firstMs });
          if (line.answer !== undefined) return line.answer;
          throw new Error(`${by}: ${line.method} ${line.path} was answered ${line.outcome}`);
        }
      },
      /** The pause ends early when the storm is over. */
      async pause(span: Span): Promise<void> {
        await wait(within(random, span), undefined, { signal: stopped }).catch(() => undefined);
      },
    };
  }

  return { plan, random, store, open };
}

/** A request without an answer may have begun a replay (the next gets 409) or a drill (the next gets 429 for a minute). */
const asksAgain = ({ outcome, path }: Pick<AskLine, 'outcome' | 'path'>): boolean =>
  typeof outcome !== 'number' ||
  outcome >= 500 ||
  (outcome === 409 && path.endsWith('/replay')) ||
  (outcome === 429 && path.endsWith('/drill'));
