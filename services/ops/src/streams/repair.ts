// The repairs: those of a start, at once and for all streams, and the removal of what only a release before reads. What a
// stream has it keeps, unless STREAMS_MAY_SHRINK says otherwise (shared/runtime/src/bus/quantities.ts).
import type { Bus, StreamSpec } from '@integration-sync/runtime/bus';
import { withinPatience } from '../engines.ts';
import type { Finding } from './findings.ts';

export interface Repaired {
  what: string;
  outcome: 'done' | 'refused';
  words?: string;
}

type Repairing = Pick<Bus, 'ensureStream' | 'removeStream'>;

export async function repair(
  bus: Repairing,
  expected: readonly StreamSpec[],
  wrong: readonly Finding[],
  removeLeftOver: boolean,
): Promise<Repaired[]> {
  const repaired: Repaired[] = [];
  for (const spec of expected) {
    const ofStream = wrong.filter(({ stream }) => stream === spec.name);
    const mended = ofStream.filter((one) => one.repair === 'apply');
    if (mended.length === 0) continue;
    const refusal = await refusalOf(() => bus.ensureStream(spec));
    repaired.push(...mended.map(({ what }) => outcomeOf(what, refusal)));
  }
  for (const { stream, what, repair: how } of wrong) {
    if (how !== 'left-over' || !removeLeftOver) continue;
    repaired.push(outcomeOf(what, await refusalOf(() => bus.removeStream(stream))));
  }
  return repaired;
}

/** Without a stream's leader, or where nats-server refuses, the other streams are mended all the same. */
async function refusalOf(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await withinPatience(work(), 'NATS does not do it');
    return undefined;
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
}

const outcomeOf = (what: string, refusal: string | undefined): Repaired =>
  refusal === undefined ? { what, outcome: 'done' } : { what, outcome: 'refused', words: refusal };
