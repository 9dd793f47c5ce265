// Which replicas live, and which of them share the partitions. Each replica broadcasts twice a second that it lives, whether it
// shares, and whether others took partitions from it while it lived. It counts as dead after a silence, in which the judging replica
// has heard itself five times: a replica that stands still or is cut off judges no other replica.
//
//   others took partitions from the replica  the silence is
//   ───────────────────────────────────────  ─────────────────────────────────────────────────────────────────────────
//   not within 10 min                        2.5 s
//   within 10 min, while it lived            20 s: it lacks processor time, and each takeover repeats deliveries
//
// A stopping replica broadcasts that it shares no partitions. It lives on until its attempts in flight have ended.
import { randomUUID } from 'node:crypto';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';

export type Replicas = ReturnType<typeof openReplicas>;

const silenceMs = 2_500;
const silenceMsAfterTakeover = 20_000;
const rememberedMs = 10 * 60_000;
const beatMs = 500;
/** A replica that has not heard itself for so long begins no attempt. Others claim its partitions only later. */
const unheardMs = 2_000;
/** How often a replica hears itself before it takes another replica for dead. */
const beatsMin = silenceMs / beatMs;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';
const sharesHeader = 'shares';
/** This replica opens encrypted places of the feed (feed/place.ts). Release 1.1.0 sends no such header. */
const opensHeader = 'opens';
/** When the beat was sent, by `performance.now()` of its replica. */
const sentHeader = 'sent';
/** Other replicas have taken partitions from this replica within 10 min, unless 0. Release 1.1.0 sends no such header. */
const takeoversHeader = 'takeovers';

/** When a replica was last heard, and how often the judging replica had heard itself by then. */
interface Sign {
  at: number;
  ownBeats: number;
  wasTaken: boolean;
}

interface Heard extends Sign {
  shares: boolean;
  opens: boolean;
}

/** `self` is the id of this process. */
export function openReplicas(bus: Pick<Bus, 'broadcast' | 'listen'>, self: string = randomUUID()) {
  const own = openOwnBeats();
  let takenAt = -Infinity;
  const wasTaken = (): boolean => performance.now() - takenAt < rememberedMs;
  let onChange: (() => void) | undefined;
  const beat = (): void => {
    bus.broadcast(aliveSubject, self, headersOf(onChange !== undefined, wasTaken()));
  };
  // A new replica hears this replica immediately, and not only at the next regular beat.
  const others = openOthers(own, { onNew: beat, onChange: () => onChange?.() });

  const listening = [
    bus.listen(aliveSubject, ({ body, headers }) => {
      const id = Buffer.from(body).toString();
      if (id === self) own.hear(Number(headers.get(sentHeader)));
      else others.hear(id, headers);
    }),
    bus.listen(goneSubject, ({ body }) => others.forget(Buffer.from(body).toString())),
  ];
  const beating = setInterval(beat, beatMs);
  beat();

  return {
    self,
    /** Whether this replica may claim the partitions of the other replica. */
    isDead(id: string): boolean {
      return id !== self && this.isHeard && others.isSilent(id);
    },
    /** The replicas that share the partitions. */
    sharing(): readonly string[] {
      return onChange === undefined ? others.sharing() : [self, ...others.sharing()];
    },
    /** Whether all living replicas open encrypted places of the feed. */
    get allOpenPlaces(): boolean {
      return others.allOpenPlaces();
    },
    /** Whether this replica has heard itself within 2 s. If not, other replicas may claim its partitions. */
    get isHeard(): boolean {
      return performance.now() - own.heardAt < unheardMs;
    },
    /** How often this replica did not hear itself for 2 s, and then heard itself again. */
    get gaps(): number {
      return own.gaps;
    },
    /** After this silence the other replicas claim the partitions of this replica. */
    get silenceMs(): number {
      return silenceMsOf(wasTaken());
    },
    /** Other replicas have claimed partitions of this replica: from now on they wait longer. */
    wasTaken(): void {
      takenAt = performance.now();
      beat();
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

const headersOf = (shares: boolean, wasTaken: boolean): Record<string, string> => ({
  [sentHeader]: String(performance.now()),
  [opensHeader]: 'places',
  [takeoversHeader]: wasTaken ? '1' : '0',
  ...(shares ? { [sharesHeader]: '1' } : {}),
});

/** The other replicas, as this replica has heard them. */
function openOthers(own: OwnBeats, { onNew, onChange }: Record<'onNew' | 'onChange', () => void>) {
  const heard = new Map<string, Heard>();
  const isSilent = (sign: Sign): boolean =>
    performance.now() - sign.at >= silenceMsOf(sign.wasTaken) && own.beats - sign.ownBeats >= beatsMin;
  const isSharing = (id: string): boolean => {
    const one = heard.get(id);
    return one?.shares === true && !isSilent(one);
  };
  return {
    hear(id: string, headers: Broadcast['headers']): void {
      const before = heard.get(id);
      const isNew = before === undefined || isSilent(before);
      const wasSharing = isSharing(id);
      const shares = headers.has(sharesHeader);
      heard.set(id, {
        at: performance.now(),
        ownBeats: own.beats,
        wasTaken: Number(headers.get(takeoversHeader) ?? 0) > 0,
        shares,
        opens: headers.has(opensHeader),
      });
      const since = performance.now() - rememberedMs;
      for (const [other, { at }] of heard) if (at < since) heard.delete(other);
      if (isNew) onNew();
      if (shares !== wasSharing) onChange();
    },
    forget(id: string): void {
      const wasSharing = isSharing(id);
      heard.delete(id);
      if (wasSharing) onChange();
    },
    isSilent: (id: string): boolean => isSilent(heard.get(id) ?? own.heardSince),
    sharing: (): string[] => [...heard.keys()].filter(isSharing),
    allOpenPlaces: (): boolean => heard.values().every((one) => one.opens || isSilent(one)),
  };
}

/** After this silence the other replicas claim the partitions of a replica. */
const silenceMsOf = (wasTaken: boolean): number => (wasTaken ? silenceMsAfterTakeover : silenceMs);

type OwnBeats = ReturnType<typeof openOwnBeats>;

/** A replica's own beats, by the time each was sent: a process that was frozen finds an old beat in its socket. */
function openOwnBeats() {
  let heardAt = -Infinity;
  let beats = 0;
  let heardSince: Sign = { at: Infinity, ownBeats: 0, wasTaken: false };
  let gaps = 0;
  return {
    hear(sentAt: number): void {
      const now = performance.now();
      if (heardAt > -Infinity && now - heardAt > unheardMs) gaps += 1;
      if (now - heardAt > silenceMs) heardSince = { at: now, ownBeats: beats, wasTaken: false };
      heardAt = sentAt;
      if (now - sentAt < unheardMs) beats += 1;
    },
    /** How many of its beats this replica has heard within 2 s. */
    get beats(): number {
      return beats;
    },
    get heardAt(): number {
      return heardAt;
    },
    /** Since when this replica hears itself without a silence of 2.5 s, and would have heard any other replica. */
    get heardSince(): Sign {
      return heardSince;
    },
    get gaps(): number {
      return gaps;
    },
  };
}
