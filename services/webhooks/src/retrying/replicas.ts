// Which replicas live, and which of them read partitions. Each says so twice a second on the bus; the others take one that
// has been silent for a while for dead, and take over what it owned and read. A replica that does not hear itself hears
// none, so it judges none.
//
// A replica says that it reads only when it knows the others: from that word on they leave its partitions to it, and
// nothing may wait for it to learn which these are. One that stops says so at once, long before it is gone: what it has
// in hand takes seconds.
import { randomUUID } from 'node:crypto';
import type { Bus } from '@integration-sync/runtime/bus';

export interface Replicas extends AsyncDisposable {
  /** This replica, for as long as this process lives. */
  readonly self: string;
  /** All that live, this one included; undefined while this replica can judge none. */
  alive(): string[] | undefined;
  /** Begins to read, as soon as it may. `onChange`: another replica may read now, or does no longer. */
  read(onChange: () => void): Disposable;
  /** All that read, this one included; undefined until it does. While it can judge none, those that it knew last. */
  readers(): readonly string[] | undefined;
}

const beatMs = 500;
const silenceMs = 2_500;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';
/** Replicas of a release without partitions do not say it. */
const readsHeader = 'reads';

export function openReplicas(
  bus: Pick<Bus, 'broadcast' | 'listen'>,
  now = () => performance.now(),
): Replicas {
  const self = randomUUID();
  const hearing = openHearing(self, now);
  let onChange: (() => void) | undefined;
  let reads = false;
  let known: readonly string[] | undefined;

  const listening = [
    bus.listen(aliveSubject, ({ body, headers }) => {
      if (hearing.heard(Buffer.from(body).toString(), headers.has(readsHeader))) onChange?.();
    }),
    bus.listen(goneSubject, ({ body }) => {
      if (hearing.gone(Buffer.from(body).toString())) onChange?.();
    }),
  ];
  const beat = (): void => {
    if (onChange !== undefined && !reads && hearing.alive() !== undefined) {
      reads = true;
      onChange();
    }
    bus.broadcast(aliveSubject, self, reads ? { [readsHeader]: '1' } : {});
  };
  const beating = setInterval(beat, beatMs);
  beat();

  return {
    self,
    alive: () => hearing.alive(),
    read(changed) {
      onChange = changed;
      return {
        [Symbol.dispose]() {
          onChange = undefined;
          reads = false;
          beat();
        },
      };
    },
    readers() {
      if (!reads) return undefined;
      const alive = hearing.alive();
      if (alive !== undefined) known = alive.filter((id) => id === self || hearing.reads(id));
      return known;
    },
    async [Symbol.asyncDispose]() {
      clearInterval(beating);
      for (const subscription of listening) subscription[Symbol.dispose]();
      bus.broadcast(goneSubject, self);
    },
  };
}

/** Which replicas were heard, and when. */
interface Hearing {
  /** True where another one reads now and did not before, or the other way round. */
  heard(id: string, reads: boolean): boolean;
  gone(id: string): boolean;
  alive(): string[] | undefined;
  reads(id: string): boolean;
}

function openHearing(self: string, now: () => number): Hearing {
  const heard = new Map<string, { at: number; reads: boolean }>();
  /** Since when this replica hears itself without a gap. */
  let listeningSince: number | undefined;
  const reads = (id: string): boolean => heard.get(id)?.reads === true;
  return {
    reads,
    heard(id, readsNow) {
      const before = heard.get(id);
      const didRead = reads(id);
      heard.set(id, { at: now(), reads: readsNow });
      if (id !== self) return readsNow !== didRead;
      if (listeningSince === undefined || before === undefined || now() - before.at > silenceMs)
        listeningSince = now();
      return false;
    },
    gone(id) {
      const didRead = reads(id);
      heard.delete(id);
      return didRead && id !== self;
    },
    alive() {
      const since = now() - silenceMs;
      const heardMyself = heard.get(self)?.at ?? -Infinity;
      if (heardMyself < since || listeningSince === undefined || listeningSince > since) return undefined;
      for (const [id, { at }] of heard) if (at < since) heard.delete(id);
      return [...heard.keys()];
    },
  };
}
