// Finds, once a second, the event batches of integrations whose callers wait and whose announcement did not come: a plain
// message is lost where the way between two servers breaks. While the log does not grow, that is one question a second;
// otherwise one more for 250 integrations that have heard nothing.
import { eventBatchesStream, readStoredBatchSubject, storedBatches } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { openPeriodicCheck } from '@integration-sync/runtime/periodic-check';
import type { ListenedTail, Tails } from './tail.ts';

export interface LostWakesOptions {
  bus: Pick<Bus, 'lastOfEach' | 'streamFacts'>;
  tails: Pick<Tails, 'listened'>;
  onLost: () => void;
  log: Log;
}

const noFacts = { lastSequence: 0 };
const everyMs = 1_000;
const integrationsAtOnce = 250;

export function watchLostWakes({ bus, tails, onLost, log }: LostWakesOptions): AsyncDisposable {
  /** Where the log ended at the last two checks. A copy may be behind, so that a check looks at the growth before as well. */
  let ends: [number, number] = [0, 0];

  const check = async (): Promise<void> => {
    const listened = tails.listened();
    const { lastSequence } = listened.length === 0 ? noFacts : await bus.streamFacts(eventBatchesStream);
    const [from, before] = ends;
    ends = [before, lastSequence];
    if (from === lastSequence) return;
    const quietSinceMs = performance.now() - everyMs;
    const quiet = listened.filter(({ heardAtMs }) => heardAtMs < quietSinceMs);
    for (let at = 0; at < quiet.length; at += integrationsAtOnce)
      await find(quiet.slice(at, at + integrationsAtOnce), from);
  };

  const find = async (some: readonly ListenedTail[], checked: number): Promise<void> => {
    const from = Math.min(...some.map(({ through }) => Math.max(through, checked))) + 1;
    const byIntegration = new Map(some.map((tail) => [tail.integration, tail]));
    const subjects = Array.from(byIntegration.keys(), storedBatches);
    for (const { subject, sequence } of await bus.lastOfEach(eventBatchesStream, subjects, from)) {
      const stored = readStoredBatchSubject(subject);
      const tail = byIntegration.get(stored?.integration ?? '');
      if (tail === undefined || stored?.announcer === 'replay' || sequence <= tail.through) continue;
      onLost();
      tail.announced();
    }
  };

  return openPeriodicCheck(check, { what: 'lost announcements', everyMs, log });
}
