// To which traces the events of a parcel belong. Those of one push stand together and share a trace, so that a parcel says it
// once for all of them.
import { readTraceparent } from '@integration-sync/runtime/tracing';

/** So many events, one after another, come from the step of this `traceparent`; of no trace, where it is empty. */
export type PackedTraces = [traceparent: string, events: number][];

/** Undefined where none of them belongs to a trace. */
export function packTraces(
  events: readonly { traceparent?: string | undefined }[],
): PackedTraces | undefined {
  if (!events.some(({ traceparent }) => traceparent !== undefined)) return undefined;
  const traces: PackedTraces = [];
  for (const { traceparent = '' } of events) {
    const last = traces.at(-1);
    if (last?.[0] === traceparent) last[1] += 1;
    else traces.push([traceparent, 1]);
  }
  return traces;
}

/** By the places of the events. */
export const unpackTraces = (traces: PackedTraces = []): (string | undefined)[] =>
  traces.flatMap(([text, events]) => {
    const traceparent = readTraceparent(text);
    return Array.from({ length: events }, () => traceparent);
  });
