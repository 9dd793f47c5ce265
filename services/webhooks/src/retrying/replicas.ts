// Which replicas live. Each says so twice a second on the bus; the others take one that has been silent for a while for
// dead, and take over what it owned. A replica that does not hear itself hears none, so it judges none.
import { randomUUID } from 'node:crypto';
import type { Bus } from '@integration-sync/runtime/bus';

export interface Replicas extends AsyncDisposable {
  /** This replica, for as long as this process lives. */
  readonly self: string;
  /** All that live, this one included; undefined while this replica can judge none. */
  alive(): string[] | undefined;
}

const beatMs = 500;
const silenceMs = 2_500;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';

export function openReplicas(
  bus: Pick<Bus, 'broadcast' | 'listen'>,
  now = () => performance.now(),
): Replicas {
  const self = randomUUID();
  const heardAt = new Map<string, number>();
  /** Since when this replica hears itself without a gap. */
  let listeningSince: number | undefined;

  const onBeat = (id: string): void => {
    const before = heardAt.get(id);
    heardAt.set(id, now());
    if (id !== self) return;
    if (listeningSince === undefined || before === undefined || now() - before > silenceMs)
      listeningSince = now();
  };
  const listening = [
    bus.listen(aliveSubject, ({ body }) => onBeat(Buffer.from(body).toString())),
    bus.listen(goneSubject, ({ body }) => heardAt.delete(Buffer.from(body).toString())),
  ];
  const beat = (): void => bus.broadcast(aliveSubject, self);
  const beating = setInterval(beat, beatMs);
  beat();

  return {
    self,
    alive() {
      const since = now() - silenceMs;
      const heardMyself = heardAt.get(self) ?? -Infinity;
      if (heardMyself < since || listeningSince === undefined || listeningSince > since) return undefined;
      for (const [id, at] of heardAt) if (at < since) heardAt.delete(id);
      return [...heardAt.keys()];
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beating);
      for (const subscription of listening) subscription[Symbol.dispose]();
      bus.broadcast(goneSubject, self);
    },
  };
}
