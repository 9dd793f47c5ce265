// Room for bodies: in the memory of this process, and on the way to a service. A body holds room from its first byte
// until the service has answered. Where there is none it waits: nothing more is read from its connection, and nothing is
// sent to the service. A request that has waited for too long is answered 503, so that what it holds is free again.
//
// nats-server cuts off a service for which 64 MB wait. Of what is on the way, the gateway knows what it sent itself and
// has no answer to; so that is what it bounds, for each service, at a third of those 64 MB: two gateways stay well below.
import { Failure, type RequestSubject } from '@integration-sync/contracts';
import { openGauge, type Metrics } from '@integration-sync/runtime/metrics';
import { Budget, type Claim } from './budget.ts';

const mebibyte = 1024 * 1024;
const memoryBytesMax = 64 * mebibyte;
const roadBytesMax = 20 * mebibyte;
/** What waits for memory has a piece of its body in a buffer of its connection that is not counted. */
const waitingForMemoryMax = 128;
const waitingForRoadMax = 1_024;
const patienceMs = 2_000;
/** So much longer the bytes of a request count that was given up: they may stand before the service all the same. */
const unheardMs = 2_000;

export interface Rooms {
  readonly memory: Budget;
  /** The way to the service that answers there. */
  roadFor(subject: RequestSubject): Budget;
  readonly roads: ReadonlyMap<string, Budget>;
  /** All that one request may wait for room, in memory and on the road together. */
  readonly patienceMs: number;
}

export interface RoomSizes {
  memoryBytesMax?: number;
  roadBytesMax?: number;
  patienceMs?: number;
}

export function openRooms(bodyBytesMax: number, sizes: RoomSizes = {}): Rooms {
  const roads = new Map<string, Budget>();
  return {
    roads,
    patienceMs: sizes.patienceMs ?? patienceMs,
    memory: new Budget({
      // A few of the largest bodies fit in any case.
      bytesMax: sizes.memoryBytesMax ?? Math.max(memoryBytesMax, 4 * bodyBytesMax),
      waitingMax: waitingForMemoryMax,
    }),
    roadFor(subject) {
      const [, service = ''] = subject.split('.');
      const road =
        roads.get(service) ??
        new Budget({ bytesMax: sizes.roadBytesMax ?? roadBytesMax, waitingMax: waitingForRoadMax });
      roads.set(service, road);
      return road;
    },
  };
}

/** What Prometheus is told of them. */
export function observeRooms(registry: Metrics['registry'], { memory, roads }: Rooms): void {
  const sum = (read: (budget: Budget) => number): number =>
    roads.values().reduce((total, road) => total + read(road), 0);
  openGauge(
    registry,
    { name: 'gateway_body_bytes', help: 'Bytes of bodies in memory.' },
    () => memory.heldBytes,
  );
  openGauge(registry, { name: 'gateway_road_bytes', help: 'Bytes of bodies on the way to services.' }, () =>
    sum((road) => road.heldBytes),
  );
  openGauge(
    registry,
    { name: 'gateway_bodies_waiting', help: 'Bodies that wait for room.' },
    () => memory.waitingCount + sum((road) => road.waitingCount),
  );
}

/** The room of one request's body. */
export class Room {
  readonly #memory: Claim;
  #road: Claim | undefined;
  #leftMs: number;

  constructor(rooms: Pick<Rooms, 'memory' | 'patienceMs'>, integration: string) {
    this.#memory = rooms.memory.open(integration);
    this.#leftMs = rooms.patienceMs;
  }

  get heldBytes(): number {
    return this.#memory.heldBytes;
  }

  /** What its integration holds. */
  get sharedBytes(): number {
    return this.#memory.share.heldBytes;
  }

  get isWaiting(): boolean {
    return this.#memory.wantedBytes > 0;
  }

  /** Undefined where there is room; otherwise settles when there is, or fails when it took too long. */
  hold(bytes: number): Promise<void> | undefined {
    return this.#grow(this.#memory, bytes);
  }

  shrink(bytes: number): void {
    this.#memory.shrink(bytes);
  }

  /** As `hold`, for what is about to be sent to a service. */
  takeRoad(road: Budget, bytes: number): Promise<void> | undefined {
    this.#road = road.open(this.#memory.share.integration);
    return this.#grow(this.#road, bytes);
  }

  release(): void {
    this.#memory.release();
    this.#road?.release();
  }

  /** For a request that was sent and has no answer. */
  releaseLater(): void {
    setTimeout(() => this.release(), unheardMs).unref();
  }

  #grow(claim: Claim, bytes: number): Promise<void> | undefined {
    const grant = claim.grow(bytes);
    if (grant === 'granted') return undefined;
    return grant === 'waits' ? this.#wait(claim) : Promise.reject(noRoom());
  }

  async #wait(claim: Claim): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const beganAt = performance.now();
    claim.onRoom = resolve;
    const timer = setTimeout(() => reject(noRoom()), this.#leftMs);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - beganAt));
    }
  }
}

const noRoom = (): Failure =>
  new Failure('unavailable', 'Too many uploads are under way; try again shortly.', { retryAfterSeconds: 2 });
