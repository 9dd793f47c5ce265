// Which replicas live, and which of them share the partitions. Each replica broadcasts a beat twice a second, which says whether
// it shares partitions, and whether others took partitions from it while it was alive. A replica counts as dead after a silence
// in which the judging replica has received five of its own beats. So a frozen or disconnected replica judges no other replica.
//
//   others took partitions from the replica  after which silence the replica counts as dead
//   ───────────────────────────────────────  ─────────────────────────────────────────────────────────────────────────
//   not within 10 min                        2.5 s
//   within 10 min, while it was alive        20 s: the replica lacks processor time, and a takeover repeats deliveries
//
// A stopping replica broadcasts that it shares no partitions. The process ends after its attempts in flight have ended.
import { randomUUID } from 'node:crypto';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';

export type Replicas = ReturnType<typeof openReplicas>;

const silenceMs = 2_500;
const silenceMsAfterTakeover = 20_000;
const rememberedMs = 10 * 60_000;
const beatMs = 500;
/** A replica that gets no beat of its own for this time begins no attempt. Other replicas claim its partitions only later. */
const unheardMs = 2_000;
/** How many of its own beats a replica receives, during the silence of another replica, before it judges that replica dead. */
const beatsMin = silenceMs / beatMs;
const aliveSubject = 'webhooks.replica.alive';
const goneSubject = 'webhooks.replica.gone';
const sharesHeader = 'shares';
/** A replica that sends this header reads encrypted places of the feed (feed/place.ts). Release 1.1.0 does not send it. */
const opensHeader = 'opens';
/** When the beat was sent, by `performance.now()` of the sender. */
const sentHeader = 'sent';
/** Unless 0, other replicas took partitions from the sender within 10 min. Release 1.1.0 does not send this header. */
const takeoversHeader = 'takeovers';

/** When the last beat of a replica arrived, and how many of its own beats the judging replica had received by then. */
interface Sign {
  at: number;
  ownBeats: number;
  wasTaken: boolean;
}

interface Heard extends Sign {
  shares: boolean;
  opens: boolean;
}

export function openReplicas(bus: Pick<Bus, 'broadcast' | 'listen'>, self: string = randomUUID()) {
  const own = new OwnBeats();
  let takenAt = -Infinity;
  const wasTaken = (): boolean => performance.now() - takenAt < rememberedMs;
  let onChange: (() => void) | undefined;
  const beat = (): void => {
    bus.broadcast(aliveSubject, self, {
      [sentHeader]: String(performance.now()),
      [opensHeader]: 'places',
      [takeoversHeader]: wasTaken() ? '1' : '0',
      ...(onChange === undefined ? {} : { [sharesHeader]: '1' }),
    });
  };
  // When a new replica appears, this replica sends a beat immediately, before its next regular beat.
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
    isDead(id: string): boolean {
      return id !== self && this.isHeard && others.isSilent(id);
    },
    sharing(): readonly string[] {
      return onChange === undefined ? others.sharing() : [self, ...others.sharing()];
    },
    get allOpenPlaces(): boolean {
      return others.allOpenPlaces();
    },
    /** Whether this replica has received a beat of its own within 2 s. If not, other replicas may soon claim its partitions. */
    get isHeard(): boolean {
      return performance.now() - own.heardAt < unheardMs;
    },
    /** How often this replica received no beat of its own for 2 s, and then received one. */
    get gaps(): number {
      return own.gaps;
    },
    /** How long this replica must be silent before other replicas claim its partitions. */
    get silenceMs(): number {
      return silenceMsOf(wasTaken());
    },
    /** Notes that other replicas have claimed partitions of this replica, so that they wait longer before they claim more. */
    wasTaken(): void {
      takenAt = performance.now();
      beat();
    },
    /** Makes this replica share partitions until disposal. `changed` is called when another replica begins or ceases to share. */
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

function openOthers(own: OwnBeats, { onNew, onChange }: Record<'onNew' | 'onChange', () => void>) {
  const heard = new Map<string, Heard>();
  const isSilent = (sign: Sign): boolean =>
    performance.now() - sign.at >= silenceMsOf(sign.wasTaken) && own.count - sign.ownBeats >= beatsMin;
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
        ownBeats: own.count,
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

const silenceMsOf = (wasTaken: boolean): number => (wasTaken ? silenceMsAfterTakeover : silenceMs);

/** The replica's own beats. Each has the time of its sending, because a frozen process later reads old beats from its socket. */
class OwnBeats {
  /**
   * How many beats of this replica came back to it within 2 s. Beats that come back together count as one: after a reconnection, the
   * NATS client sends the beats of several seconds before any beat of another replica can arrive.
   */
  count = 0;
  #countedAt = -Infinity;
  heardAt = -Infinity;
  /** Since when own beats arrive without a gap of 2.5 s. The silence of a replica that sent no beat counts from then. */
  heardSince: Sign = { at: Infinity, ownBeats: 0, wasTaken: false };
  gaps = 0;

  hear(sentAt: number): void {
    const now = performance.now();
    if (this.heardAt > -Infinity && now - this.heardAt > unheardMs) this.gaps += 1;
    if (now - this.heardAt > silenceMs) this.heardSince = { at: now, ownBeats: this.count, wasTaken: false };
    this.heardAt = sentAt;
    if (now - sentAt >= unheardMs || now - this.#countedAt < beatMs / 2) return;
    this.count += 1;
    this.#countedAt = now;
  }
}
