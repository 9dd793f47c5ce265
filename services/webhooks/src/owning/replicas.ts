// Which replicas live, and which of them share the partitions. Each says so twice a second on the bus; the others take one
// that has been silent for a while for dead. A replica that does not hear itself hears none, so it judges none, and what
// it owns may be another's by now.
//
// A replica that stops says at once that it shares no more, long before it is gone: what it has in flight takes seconds.
import { randomUUID } from 'node:crypto';
import type { Bus } from '@integration-sync/runtime/bus';

export type Replicas = ReturnType<typeof openReplicas>;

const beatMs = 500;
/** After so long the others take what a silent replica owns. */
export const silenceMs = 2_500;
/** After so long a replica that does not hear itself begins nothing more: sooner than the others take it. */
const unheardMs = 2_000;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';
const sharesHeader = 'shares';

export function openReplicas(bus: Pick<Bus, 'broadcast' | 'listen'>) {
  /** Random, and made as the process starts. */
  const self: string = randomUUID();
  const heard = new Map<string, { at: number; shares: boolean }>();
  /** Since when this replica hears itself without a gap. */
  let listeningSince: number | undefined;
  let onChange: (() => void) | undefined;

  const beat = (): void =>
    bus.broadcast(aliveSubject, self, onChange === undefined ? {} : { [sharesHeader]: '1' });
  const forget = (id: string): void => {
    const did = heard.get(id)?.shares === true;
    heard.delete(id);
    if (did) onChange?.();
  };
  const hear = (id: string, shares: boolean): void => {
    const before = heard.get(id);
    heard.set(id, { at: performance.now(), shares });
    if (id === self) {
      if (listeningSince === undefined || before === undefined || performance.now() - before.at > silenceMs)
        listeningSince = performance.now();
      return;
    }
    // A newcomer learns at once who else there is.
    if (before === undefined) beat();
    if (shares !== (before?.shares ?? false)) onChange?.();
  };

  const listening = [
    bus.listen(aliveSubject, ({ body, headers }) =>
      hear(Buffer.from(body).toString(), headers.has(sharesHeader)),
    ),
    bus.listen(goneSubject, ({ body }) => forget(Buffer.from(body).toString())),
  ];
  const beating = setInterval(beat, beatMs);
  beat();

  const heardMyselfAt = (): number => heard.get(self)?.at ?? -Infinity;

  return {
    self,
    /** All that live, this one included; undefined while this replica hears not even itself. */
    alive(): readonly string[] | undefined {
      const since = performance.now() - silenceMs;
      if (heardMyselfAt() < since || listeningSince === undefined || listeningSince > since) return undefined;
      for (const [id, { at }] of heard) if (at < since) forget(id);
      return [...heard.keys()];
    },
    /** The replicas that share the partitions. */
    sharing(): readonly string[] {
      const since = performance.now() - silenceMs;
      const others = Array.from(heard).flatMap(([id, { at, shares }]) =>
        shares && id !== self && at >= since ? [id] : [],
      );
      return onChange === undefined ? others : [self, ...others];
    },
    /** Whether this replica has heard itself within 2 s. Otherwise the others may not hear it, and take its partitions. */
    get isHeard(): boolean {
      return performance.now() - heardMyselfAt() < unheardMs;
    },
    /** Shares from now on. `changed`: another replica has begun or ended to share. */
    share(changed: () => void): Disposable {
      onChange = changed;
      beat();
      return {
        [Symbol.dispose]() {
          onChange = undefined;
          beat();
        },
      };
    },
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(beating);
      for (const subscription of listening) subscription[Symbol.dispose]();
      bus.broadcast(goneSubject, self);
    },
  };
}
