// Refuses events of kinds that their publisher may not announce: nats-server lets each service publish to certain subjects alone.
import { mayAnnounce } from '@integration-sync/contracts';
import type { Log } from '@integration-sync/runtime/log';

/** Whether events of a kind may have this subject. */
export function mayHold(subject: string): (kind: string) => boolean {
  const [, , ...ofEvent] = subject.split('.');
  return (kind) => kind === ofEvent.join('.');
}

export const mayHoldBatch = (announcer: string, kind: string): boolean =>
  announcer === 'replay' || mayAnnounce(announcer, kind);

export function logRefused(log: Log, subject: string, refused: readonly { event: string }[]): void {
  const kinds = [...new Set(refused.map(({ event }) => event))].slice(0, kindsMax);
  log.error(
    { subject, kinds, events: refused.length },
    'refused events of kinds that their publisher may not announce',
  );
}

const kindsMax = 10;
