// Receives bodies. A body reserves the memory that it takes (body-budgets.ts). After its first bytes a body of known
// length reserves memory for its whole length, so that two half bodies do not wait for each other. A body of unknown
// length reserves memory in few large steps. While no memory is free, the gateway stops reading the connection.
//
// A slow upload may hold its memory until the request times out. The gateway aborts the upload earlier if some integration waits
// for memory, and the integration of the upload holds at least as much memory.
import type { IncomingMessage } from 'node:http';
import { Failure } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BodyReservation, type BodyBudgets } from './body-budgets.ts';
import { BodyBuffer } from './body-buffer.ts';
import { tooLarge, waitsForContinue } from './body-headers.ts';
import { StatusFailure } from '../problems.ts';

/** Up to this size a body of known length reserves only the bytes that have come; after that its whole length. */
const countedBytesMax = 64 * 1024;
/** Up to this size a body of unknown length reserves only the bytes that have come. Most bodies are no larger. */
const firstStepBytes = 256 * 1024;
const stepFactor = 4;
/** While other bodies wait for memory, an upload that receives fewer bytes during `leastRounds` calls of `look` is aborted. */
const leastBytes = 80 * 1024;
const leastRounds = 5;

export type CollectBody = (request: FastifyRequest, reply: FastifyReply, bytesMax: number) => Promise<Buffer>;

export function openUploads(
  budgets: Pick<BodyBudgets, 'memory' | 'patienceMs'>,
  lookEveryMs = 1_000,
): Disposable & { collect: CollectBody } {
  const receiving = new Set<Upload>();
  // `look` counts its calls instead of time, so that no upload counts as slow because this process was frozen.
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
  /** How many bytes of the body had come at the last call of `look` that found the upload fast enough. */
  #quickBytes = 0;
  /** The number of calls of `look` since the upload was last fast enough. */
  #slowRounds = 0;

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
      // Every request emits `close`, mostly after a complete body: to create an error for each would be slow.
      if (!raw.readableEnded)
        reject(new Failure('invalid_request', 'The body ended before it was complete.'));
    };
    raw.once('end', resolve).once('close', onCut).once('error', onCut);
    // If the caller hung up while its token was verified, `close` was emitted before this listener was added.
    if (raw.destroyed) onCut();
    try {
      // A client that sent `Expect: 100-continue` waits. The gateway answers 100 once memory is free for the whole body.
      if (waitsForContinue(raw)) {
        await Promise.race([this.#reservation.hold(this.#declaredBytes ?? this.#bytesMax), promise]);
        reply.raw.writeContinue();
      }
      raw.on('data', onData);
      await promise;
      const body = this.#buffer.join();
      this.#reservation.memory.shrink(body.length);
      return body;
    } finally {
      raw.off('data', onData).off('end', resolve).off('close', onCut);
    }
  }

  /** Aborts a slow upload if its integration holds `leastWaitingBytes` or more: the fewest bytes that a waiting one holds. */
  look(leastWaitingBytes: number): void {
    const { wantedBytes, share } = this.#reservation.memory;
    if (wantedBytes > 0 || this.bytes - this.#quickBytes >= leastBytes) {
      this.#quickBytes = this.bytes;
      this.#slowRounds = 0;
      return;
    }
    this.#slowRounds += 1;
    if (this.#slowRounds > leastRounds && share.heldBytes >= leastWaitingBytes) {
      this.#ended.reject(
        new StatusFailure(
          408,
          `The body came too slowly while other uploads waited: less than ${leastBytes / 1024} KiB in ${leastRounds} s.`,
        ),
      );
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

  /** Copies the chunks into one buffer. Called once memory is free for the whole body. */
  #copyTogether(): void {
    const declared = this.#declaredBytes;
    if (declared !== undefined && this.#buffer.heldBytes > countedBytesMax) this.#buffer.expect(declared);
  }

  get #declaredBytes(): number | undefined {
    const length = this.#raw.headers['content-length'];
    return length === undefined ? undefined : Number(length);
  }
}
