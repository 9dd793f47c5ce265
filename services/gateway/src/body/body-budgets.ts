// The budgets of body bytes: one for the memory of this process, and one for each service. The budget of a service (`road`)
// counts the bytes that the gateway has sent and that the service has not answered yet. A body reserves bytes from its first byte
// until the service has answered. While no bytes are free, the gateway reads no more of the body, and sends nothing of the body
// to the service. The gateway refuses a request that waits too long with 503, which frees its bytes.
//
// Another budget counts the bytes of answers that callers have not read yet. Before the gateway asks a service, it reserves the
// bytes that the answer may have. A caller that does not read large answers delays only requests of its integration.
//
// nats-server closes the connection of a service for which 64 MB wait. A gateway knows only the bytes that it has sent itself,
// and bounds these bytes at a third of the 64 MB, so that two gateways stay well below.
import { Failure, type RequestSubject } from '@integration-sync/contracts';
import { gaugesOf, type Metrics } from '@integration-sync/runtime/metrics';
import { Budget, type Reservation } from './fair-budget.ts';

const mebibyte = 1024 * 1024;
const memoryBytesMax = 64 * mebibyte;
const roadBytesMax = 20 * mebibyte;
const answerBytesMax = 64 * mebibyte;
/** How many bodies may wait for memory: each has some bytes, which no budget counts, in a buffer of its connection. */
const waitingForMemoryMax = 128;
const waitingForServicesMax = 1_024;
const patienceMs = 2_000;
/** How long after a time-out the bytes of a request still count: the service may not have read them yet. */
const unheardMs = 2_000;

export type BodyBudgets = ReturnType<typeof openBodyBudgets>;

export interface BodyBudgetSizes {
  memoryBytesMax?: number;
  roadBytesMax?: number;
  patienceMs?: number;
}

export function openBodyBudgets(bodyBytesMax: number, sizes: BodyBudgetSizes = {}) {
  const roads = new Map<string, Budget>();
  return {
    roads,
    /** How long one request may wait in all: for memory, and for bytes of the service's budget. */
    patienceMs: sizes.patienceMs ?? patienceMs,
    memory: new Budget({
      // The budget of memory has room for four bodies of the largest allowed size.
      bytesMax: sizes.memoryBytesMax ?? Math.max(memoryBytesMax, 4 * bodyBytesMax),
      waitingMax: waitingForMemoryMax,
    }),
    answers: new Budget({ bytesMax: answerBytesMax, waitingMax: waitingForServicesMax }),
    /** The budget of the service that answers this subject. */
    roadFor(subject: RequestSubject): Budget {
      const [, service = ''] = subject.split('.');
      const options = { bytesMax: sizes.roadBytesMax ?? roadBytesMax, waitingMax: waitingForServicesMax };
      return roads.getOrInsertComputed(service, () => new Budget(options));
    },
  };
}

export function observeBodyBudgets(
  registry: Metrics['registry'],
  { memory, roads, answers }: BodyBudgets,
): void {
  const sum = (read: (budget: Budget) => number): number =>
    roads.values().reduce((total, road) => total + read(road), 0);
  const open = gaugesOf(registry);
  open('gateway_body_bytes', 'Bytes of bodies in memory.', () => memory.heldBytes);
  open('gateway_road_bytes', 'Bytes of bodies on the way to services.', () => sum((road) => road.heldBytes));
  open(
    'gateway_bodies_waiting',
    'Bodies that wait until bytes are free.',
    () => memory.waitingCount + sum((road) => road.waitingCount),
  );
  open('gateway_answer_bytes', 'Bytes of answers that callers have not read.', () => answers.heldBytes);
  open(
    'gateway_answers_waiting',
    'Requests that wait until their callers have read other answers.',
    () => answers.waitingCount,
  );
}

/** The bytes that the body of one request reserves, in the budget of memory and in the budget of a service. */
export class BodyReservation {
  readonly memory: Reservation;
  #road: Reservation | undefined;
  #leftMs: number;

  constructor(budgets: Pick<BodyBudgets, 'memory' | 'patienceMs'>, integration: string) {
    this.memory = budgets.memory.open(integration);
    this.#leftMs = budgets.patienceMs;
  }

  /** Reserves memory. Undefined if the bytes were free, else a promise that resolves once they are reserved, or rejects. */
  hold(bytes: number): Promise<void> | undefined {
    return this.#grow(this.memory, bytes);
  }

  /** Reserves bytes in the budget of the service to which the gateway is about to send them. Returns what `hold` returns. */
  takeRoad(road: Budget, bytes: number): Promise<void> | undefined {
    this.#road = road.open(this.memory.share.integration);
    return this.#grow(this.#road, bytes);
  }

  release(): void {
    this.memory.release();
    this.#road?.release();
  }

  /** Releases the bytes after a delay: for a request that the gateway has sent and that got no answer in time. */
  releaseLater(): void {
    setTimeout(() => this.release(), unheardMs).unref();
  }

  #grow(reservation: Reservation, bytes: number): Promise<void> | undefined {
    const waiting = grow(reservation, bytes, this.#leftMs, tooManyUploads);
    if (waiting === undefined) return undefined;
    const beganAt = performance.now();
    return waiting.finally(() => {
      this.#leftMs = Math.max(0, this.#leftMs - (performance.now() - beganAt));
    });
  }
}

/** Reserves the bytes that an answer may have; returns what `BodyReservation.hold` returns. */
export const holdAnswer = (answer: Reservation, bytes: number): Promise<void> | undefined =>
  grow(answer, bytes, patienceMs, tooManyAnswers);

function grow(
  reservation: Reservation,
  bytes: number,
  withinMs: number,
  refusal: () => Failure,
): Promise<void> | undefined {
  const grant = reservation.grow(bytes);
  if (grant === 'granted') return undefined;
  if (grant === 'refused') return Promise.reject(refusal());
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  reservation.onGranted = resolve;
  const timer = setTimeout(() => reject(refusal()), withinMs);
  return promise.finally(() => clearTimeout(timer));
}

export const tooManyAnswers = (): Failure =>
  new Failure('unavailable', 'Too many answers are under way; read them, and try again shortly.', {
    retryAfterSeconds: 2,
  });

const tooManyUploads = (): Failure =>
  new Failure('unavailable', 'Too many uploads are under way; try again shortly.', { retryAfterSeconds: 2 });
