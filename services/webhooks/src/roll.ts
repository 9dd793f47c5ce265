// Which replicas live. Each says so twice a second on the bus; who has been silent for a while is taken for dead,
// and what it kept is taken over. A replica that does not hear itself hears nobody, so it judges nobody.
import { randomUUID } from 'node:crypto';
import type { Bus } from '@integration-sync/runtime/bus';

export interface Roll extends AsyncDisposable {
  /** This replica, for as long as this process lives. */
  readonly replica: string;
  /** All that live, this one included; undefined while nobody can be judged. */
  alive(): string[] | undefined;
}

const beatMs = 500;
const silenceMs = 2_500;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';

export function openRoll(bus: Pick<Bus, 'broadcast' | 'listen'>, now = () => performance.now()): Roll {
  const replica = randomUUID();
  const heardAt = new Map<string, number>();
  /** Since when this replica hears itself without a gap. */
  let listeningSince: number | undefined;

  const onBeat = (id: string): void => {
    const before = heardAt.get(id);
    heardAt.set(id, now());
    if (id !== replica) return;
    if (listeningSince === undefined || before === undefined || now() - before > silenceMs)
      listeningSince = now();
  };
  const listening = [
    bus.listen(aliveSubject, ({ body }) => onBeat(Buffer.from(body).toString())),
    bus.listen(goneSubject, ({ body }) => heardAt.delete(Buffer.from(body).toString())),
  ];
  const beat = (): void => bus.broadcast(aliveSubject, replica);
  const beating = setInterval(beat, beatMs);
  beat();

  return {
    replica,
    alive() {
      const since = now() - silenceMs;
      const heardMyself = heardAt.get(replica) ?? -Infinity;
      if (heardMyself < since || listeningSince === undefined || listeningSince > since) return undefined;
      for (const [id, at] of heardAt) if (at < since) heardAt.delete(id);
      return [...heardAt.keys()];
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beating);
      for (const subscription of listening) subscription[Symbol.dispose]();
      bus.broadcast(goneSubject, replica);
    },
  };
}
