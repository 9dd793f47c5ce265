// Which replicas live, and which of them share the partitions. Each replica broadcasts twice a second that it lives and
// whether it shares, and counts as dead after 2.5 s of silence. A replica that does not hear its own broadcasts judges
// no other replica, and may have lost its partitions.
//
// A stopping replica broadcasts that it shares no partitions. It lives on until its attempts in flight have ended.
import { randomUUID } from 'node:crypto';
import type { Bus } from '@integration-sync/runtime/bus';

export type Replicas = ReturnType<typeof openReplicas>;

const beatMs = 500;
/** After this silence the other replicas claim a replica's partitions. */
export const silenceMs = 2_500;
/** A replica that has not heard itself for so long begins no attempt. Others claim its partitions only later. */
const unheardMs = 2_000;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';
const sharesHeader = 'shares';
/** This replica opens encrypted places of the feed (feed/place.ts). Release 1.1.0 sends no such header. */
const opensHeader = 'opens';
/** When the beat was sent, by `performance.now()` of its replica. */
const sentHeader = 'sent';

export function openReplicas(bus: Pick<Bus, 'broadcast' | 'listen'>) {
  /** The id of this process. */
  const self: string = randomUUID();
  /** The other replicas. */
  const heard = new Map<string, { at: number; shares: boolean; opens: boolean }>();
  const own = openOwnBeats();
  let onChange: (() => void) | undefined;

  const beat = (): void => bus.broadcast(aliveSubject, self, headersOf(onChange !== undefined));
  const forget = (id: string): void => {
    const did = heard.get(id)?.shares === true;
    heard.delete(id);
    if (did) onChange?.();
  };
  const hear = (id: string, shares: boolean, opens: boolean): void => {
    const before = heard.get(id);
    heard.set(id, { at: performance.now(), shares, opens });
    // A new replica shall not wait for the next regular beat until it hears this replica.
    if (before === undefined) beat();
    if (shares !== (before?.shares ?? false)) onChange?.();
  };

  const listening = [
    bus.listen(aliveSubject, ({ body, headers }) => {
      const id = Buffer.from(body).toString();
      const shares = headers.has(sharesHeader);
      if (id === self) own.hear(Number(headers.get(sentHeader)));
      else hear(id, shares, headers.has(opensHeader));
    }),
    bus.listen(goneSubject, ({ body }) => forget(Buffer.from(body).toString())),
  ];
  const beating = setInterval(beat, beatMs);
  beat();

  return {
    self,
    /** The living replicas, with this replica; undefined unless this replica has heard itself for 2.5 s. */
    alive(): readonly string[] | undefined {
      const since = performance.now() - silenceMs;
      if (own.heardAt < since || own.heardSince > since) return undefined;
      for (const [id, { at }] of heard) if (at < since) forget(id);
      return [self, ...heard.keys()];
    },
    /** The replicas that share the partitions. */
    sharing(): readonly string[] {
      const since = performance.now() - silenceMs;
      const others = Array.from(heard).flatMap(([id, { at, shares }]) => (shares && at >= since ? [id] : []));
      return onChange === undefined ? others : [self, ...others];
    },
    /** Whether all living replicas open encrypted places of the feed. */
    get allOpenPlaces(): boolean {
      return heard.values().every(({ at, opens }) => opens || at < performance.now() - silenceMs);
    },
    /** Whether this replica has heard itself within 2 s. If not, other replicas may claim its partitions. */
    get isHeard(): boolean {
      return performance.now() - own.heardAt < unheardMs;
    },
    /** How often this replica did not hear itself for 2 s, and then heard itself again. */
    get gaps(): number {
      return own.gaps;
    },
    /** This replica shares partitions until disposal. `changed` is called when another replica begins or ends to share. */
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

const headersOf = (shares: boolean): Record<string, string> => ({
  [sentHeader]: String(performance.now()),
  [opensHeader]: 'places',
  ...(shares ? { [sharesHeader]: '1' } : {}),
});

/** A replica's own beats, by the time each was sent: a process that was frozen finds an old beat in its socket. */
function openOwnBeats() {
  let heardAt = -Infinity;
  let heardSince = Infinity;
  let gaps = 0;
  return {
    hear(sentAt: number): void {
      const now = performance.now();
      if (heardAt > -Infinity && now - heardAt > unheardMs) gaps += 1;
      if (now - heardAt > silenceMs) heardSince = now;
      heardAt = sentAt;
    },
    get heardAt(): number {
      return heardAt;
    },
    /** Since when this replica hears itself without a silence of 2.5 s. */
    get heardSince(): number {
      return heardSince;
    },
    get gaps(): number {
      return gaps;
    },
  };
}
