// The repairs: those of a start, at once and for all streams, and the removal of what only a release before reads. What a
// stream has it keeps, unless STREAMS_MAY_SHRINK says otherwise (shared/runtime/src/bus/quantities.ts).
import type { Bus, ExpectedStream, InspectedStream } from '@integration-sync/runtime/bus';
import { withinPatience } from '../engines.ts';
import type { Finding } from './findings.ts';

export interface Repaired {
  what: string;
  outcome: 'done' | 'refused' | 'left';
  words?: string;
}

type Repairing = Pick<Bus, 'ensureStream' | 'ensureConsumer' | 'removeConsumer'>;

export async function repair(
  bus: Repairing,
  expected: readonly ExpectedStream[],
  { streams, wrong }: { streams: readonly InspectedStream[]; wrong: readonly Finding[] },
  removeLeftOver: boolean,
): Promise<Repaired[]> {
  const repaired: Repaired[] = [];
  for (const { spec, consumers } of expected) {
    const ofStream = wrong.filter(({ stream }) => stream === spec.name);
    const mended = ofStream.filter((one) => one.repair === 'apply');
    if (mended.length > 0) {
      const refusal = await refusalOf(async () => {
        await bus.ensureStream(spec);
        for (const consumer of consumers) await bus.ensureConsumer(spec.name, consumer);
      });
      repaired.push(...mended.map(({ what }) => outcomeOf(what, refusal)));
    }
    if (!removeLeftOver) continue;
    for (const finding of ofStream)
      if (finding.repair === 'left-over') repaired.push(await remove(bus, streams, finding));
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

async function remove(
  bus: Repairing,
  streams: readonly InspectedStream[],
  { stream, consumer = '', what }: Finding,
): Promise<Repaired> {
  const facts = streams
    .find(({ name }) => name === stream)
    ?.consumers.find(({ name }) => name === consumer)?.facts;
  const before = (facts?.pending ?? 0) + (facts?.unacknowledged ?? 0);
  if (before > 0) {
    const words = `${consumer} on ${stream} still has ${before} events before it: it stays until webhooks has read them.`;
    return { what, outcome: 'left', words };
  }
  return outcomeOf(what, await refusalOf(async () => void (await bus.removeConsumer(stream, consumer))));
}
