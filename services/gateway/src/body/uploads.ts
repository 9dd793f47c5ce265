// Taking in bodies. A body reserves the memory that it takes (body-budgets.ts). Once more than a little of it has come,
// it reserves memory for all of it, so that it can be finished and two half bodies do not wait for each other; where
// its length is not known, it does so in few large steps. Where no memory is free, the gateway stops reading its
// connection.
//
// A connection that sends next to nothing may hold its memory for as long as the whole request may take. That hurts no
// other integration, and its own one only when memory is short: then the gateway cuts the connection off.
import type { IncomingMessage } from 'node:http';
import { Failure } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyReservation, type BodyBudgets } from './body-budgets.ts';
import { BodyBuffer } from './body-buffer.ts';
import { tooLarge } from './body-headers.ts';
import { TooSlow } from '../server/problems.ts';

/** Up to here a body of a known length reserves only what has come of it. */
const countedBytesMax = 64 * 1024;
/** The same for a body of an unknown length; most are no larger. */
const firstStepBytes = 256 * 1024;
const stepFactor = 4;
/** While other bodies wait for memory, a body must bring at least so much in so many rounds of `look`. */
const leastBytes = 80 * 1024;
const leastRounds = 5;

export type CollectBody = (request: FastifyRequest, reply: FastifyReply, bytesMax: number) => Promise<Buffer>;

export interface Uploads extends Disposable {
  collect: CollectBody;
}

export function openUploads(
  budgets: Pick<BodyBudgets, 'memory' | 'patienceMs'>,
  lookEveryMs = 1_000,
): Uploads {
  const receiving = new Set<Upload>();
  // Rounds are counted instead of time: when this process stands still, no client is to blame.
  const watch = setInterval(() => {
    const { leastWaitingBytes } = budgets.memory;
    for (const upload of receiving) upload.look(leastWaitingBytes);
  }, lookEveryMs);
  watch.unref();

  return {
    async collect({ raw, exchange }, reply, bytesMax) {
      const reservation = new BodyReservation(budgets, exchange.caller?.integration ?? '');
      const upload = new Upload(raw, reservation, bytesMax);
      exchange.reservation = reservation;
      receiving.add(upload);
      try {
        return await upload.collect(reply);
      } catch (error) {
        reservation.release();
        throw error;
      } finally {
        receiving.delete(upload);
        exchange.bytesIn = upload.bytes;
      }
    },
    [Symbol.dispose]: () => clearInterval(watch),
  };
}

class Upload {
  readonly #raw: IncomingMessage;
  readonly #reservation: BodyReservation;
  readonly #bytesMax: number;
  readonly #buffer = new BodyBuffer();
  readonly #ended = Promise.withResolvers<void>();
  /** How many bytes had come in the last round in which the body was quick enough. */
  #quickBytes = 0;
  /** The rounds since then. */
  #slowRounds = 0;
  #isCopiedTogether = false;

  constructor(raw: IncomingMessage, reservation: BodyReservation, bytesMax: number) {
    this.#raw = raw;
    this.#reservation = reservation;
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#buffer.bytes;
  }

  async collect(reply: FastifyReply): Promise<Buffer> {
    const raw = this.#raw;
    const { promise, resolve, reject } = this.#ended;
    const onData = (chunk: Buffer): void => this.#take(chunk);
    const onCut = (): void => {
      // Every request closes, most of them once their body is there; and to make an error takes longer than to read a body.
      if (!raw.readableEnded)
        reject(new Failure('invalid_request', 'The body ended before it was complete.'));
    };
    raw.once('end', resolve).once('close', onCut).once('error', onCut);
    try {
      // A client that asked first sends nothing yet; the gateway lets it begin once memory is free for all it may send.
      if (/^100-continue$/i.test(raw.headers.expect ?? '')) {
        await Promise.race([this.#reservation.hold(this.#declaredBytes ?? this.#bytesMax), promise]);
        reply.raw.writeContinue();
      }
      raw.on('data', onData);
      await promise;
      const body = this.#buffer.join();
      this.#reservation.shrink(body.length);
      return body;
    } finally {
      raw.off('data', onData).off('end', resolve).off('close', onCut);
    }
  }

  /** Called once in each round. Each waiting integration holds `leastWaitingBytes` or more. */
  look(leastWaitingBytes: number): void {
    if (this.#reservation.isWaiting || this.bytes - this.#quickBytes >= leastBytes) {
      this.#quickBytes = this.bytes;
      this.#slowRounds = 0;
      return;
    }
    this.#slowRounds += 1;
    if (this.#slowRounds > leastRounds && this.#reservation.sharedBytes >= leastWaitingBytes) {
      this.#ended.reject(new TooSlow(leastBytes / 1024, leastRounds));
    }
  }

  #take(chunk: Buffer): void {
    const buffer = this.#buffer;
    buffer.add(chunk);
    if (buffer.bytes > this.#bytesMax) {
      this.#ended.reject(tooLarge(this.#bytesMax));
      return;
    }
    const waiting = this.#reservation.hold(this.#neededBytes());
    if (waiting === undefined) {
      this.#copyTogether();
      return;
    }
    this.#raw.pause();
    waiting.then(() => {
      this.#copyTogether();
      this.#raw.resume();
    }, this.#ended.reject);
  }

  #neededBytes(): number {
    const { heldBytes } = this.#buffer;
    const declared = this.#declaredBytes;
    if (declared !== undefined)
      return heldBytes > countedBytesMax ? Math.max(heldBytes, declared) : heldBytes;
    if (heldBytes <= firstStepBytes) return heldBytes;
    let step = firstStepBytes;
    while (step < heldBytes) step *= stepFactor;
    return Math.max(heldBytes, Math.min(step, this.#bytesMax));
  }

  /** Called once memory is free for all of it. */
  #copyTogether(): void {
    const declared = this.#declaredBytes;
    if (this.#isCopiedTogether || declared === undefined || this.#buffer.heldBytes <= countedBytesMax) return;
    this.#isCopiedTogether = true;
    this.#buffer.expect(declared);
  }

  get #declaredBytes(): number | undefined {
    const length = this.#raw.headers['content-length'];
    return length === undefined ? undefined : Number(length);
  }
}
