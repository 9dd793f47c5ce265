// Pushes. Writes each push into the ledger before sending it, and its outcome afterwards.
import type { Listing, SyncRun } from '@integration-sync/contracts';
import type { Random } from '../fuzz/random.ts';
import type { Caller } from './caller.ts';
import { isItem } from './check/fields.ts';
import { clockMs, type LedgerFile } from './ledger.ts';
import type { BegunLine, EndedLine, Lines, PushAnswered } from './lines.ts';

export type Batch = Pick<BegunLine, 'plural' | 'items' | 'action'> &
  Partial<Pick<BegunLine, 'drafting' | 'wrong'>>;

export type Pusher = ReturnType<typeof openPusher>;

export interface PusherOptions extends Pick<BegunLine, 'lane' | 'integration'> {
  caller: Caller;
  random: Random;
  files: { [Name in 'begun' | 'ended' | 'runsRead']: LedgerFile<Lines[Name][number]> };
}

const hangUpChance = 0.03;
const readRunsChance = 0.1;

export function openPusher({ lane, integration, caller, random, files }: PusherOptions) {
  let count = 0;

  /** A caller may ask right after its answer for the run of its push. */
  const readRuns = async (): Promise<void> => {
    const begunMs = clockMs();
    const answer = await caller.ask({ path: '/sync-runs?limit=100', gateway: random.integer(2) });
    if (answer.outcome !== 200) return;
    const { entities }: Listing<SyncRun> = JSON.parse(answer.body);
    files.runsRead.write({ integration, begunMs, runs: entities });
  };

  return {
    lane,
    integration,
    /** The name of the next push; no two pushes of a storm share a name. */
    nextName: (): string => `${lane}.${(count += 1)}`,
    async push(name: string, batch: Batch): Promise<EndedLine> {
      const { plural, items, drafting = false, wrong = [], action } = batch;
      const gateway = random.integer(2);
      const body =
        action === undefined
          ? { [plural]: items, ...(plural === 'batches' ? { autoCreateDDS: drafting } : {}) }
          : { externalIds: items.map((item) => isItem(item) && item['externalId']) };
      const path = action === undefined ? `/${plural}` : `/${plural}/${action}`;
      const hangUpAfterMs = random.chance(hangUpChance) ? 1 + random.integer(150) : undefined;
      const begunAt = new Date().toISOString();
      const of = { lane, integration, plural, items, drafting, wrong, action, gateway };
      files.begun.write({ push: name, ...of, begunMs: clockMs(), begunAt });
      const answer = await caller.ask({ method: 'POST', path, body, gateway, hangUpAfterMs });
      const { outcome, headers, endedMs } = answer;
      const [retryAfter, problem] = [headers['retry-after'], answer.body.slice(0, 300)];
      const ended: EndedLine = {
        push: name,
        endedMs,
        outcome,
        ...(outcome === 200
          ? { ...readAnswer(answer.body), syncId: String(headers['x-sync-id']) }
          : { retryAfter, problem }),
      };
      files.ended.write(ended);
      if (outcome === 200 && random.chance(readRunsChance)) await readRuns();
      return ended;
    },
  };
}

/** Reads answers to archiving and erasing as answers to pushes in which each record is UPDATED. */
function readAnswer(body: string): { answer: PushAnswered } {
  const told = body
    .replace(/"(?:archived|erased)":/, '"updated":')
    .replaceAll(/"(?:ARCHIVED|ERASED)"/g, '"UPDATED"');
  const answer: PushAnswered = { created: 0, ...JSON.parse(told) };
  return { answer };
}
