// Collecting bodies. What has come of a body holds room in memory (room.ts). A body of which more than a little has come
// holds room for all of it, so that it can be finished and two half ones do not wait for each other; where its length is
// not known, in few large steps. Where there is no room, its connection is not read any further.
//
// A connection that sends next to nothing holds its room for as long as the whole request may take. That hurts no other
// integration, and its own one only when there is not room enough: then the connection is cut off.
import type { IncomingMessage } from 'node:http';
import { Failure } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { tooLarge } from './body.ts';
import { Pieces } from './pieces.ts';
import { TooSlow } from './problems.ts';
import { Room, type Rooms } from './room.ts';

/** Up to here a body holds what has come of it: of a known length, and of an unknown one, where most are no larger. */
const countedBytesMax = 64 * 1024;
const firstStepBytes = 256 * 1024;
const stepFactor = 4;
/** While others wait for room, a connection sends at least so much in so many rounds of looking at it. */
const leastBytes = 80 * 1024;
const leastRounds = 5;

export type CollectBody = (request: FastifyRequest, reply: FastifyReply, bytesMax: number) => Promise<Buffer>;

export interface Uploads extends Disposable {
  collect: CollectBody;
}

export function openUploads(rooms: Pick<Rooms, 'memory' | 'patienceMs'>, lookEveryMs = 1_000): Uploads {
  const receiving = new Set<Upload>();
  // Rounds are counted instead of time: when this process stands still, no connection is to blame.
  const watch = setInterval(() => {
    const { leastWaitingBytes } = rooms.memory;
    for (const upload of receiving) upload.look(leastWaitingBytes);
  }, lookEveryMs);
  watch.unref();

  return {
    async collect({ raw, exchange }, reply, bytesMax) {
      const room = new Room(rooms, exchange.caller?.integration ?? '');
      const upload = new Upload(raw, room, bytesMax);
      exchange.room = room;
      receiving.add(upload);
      try {
        return await upload.collect(reply);
      } catch (error) {
        room.release();
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
  readonly #room: Room;
  readonly #bytesMax: number;
  readonly #pieces = new Pieces();
  readonly #ended = Promise.withResolvers<void>();
  /** How much had come when it last was quick enough, and how many rounds ago that was. */
  #quickBytes = 0;
  #slowRounds = 0;
  #isTogether = false;

  constructor(raw: IncomingMessage, room: Room, bytesMax: number) {
    this.#raw = raw;
    this.#room = room;
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#pieces.bytes;
  }

  async collect(reply: FastifyReply): Promise<Buffer> {
    const raw = this.#raw;
    const { promise, resolve, reject } = this.#ended;
    const onData = (chunk: Buffer): void => this.#take(chunk);
    const onCut = (): void =>
      reject(new Failure('invalid_request', 'The body ended before it was complete.'));
    raw.once('end', resolve).once('close', onCut).once('error', onCut);
    try {
      // A client that asked first has waited until now; it is let in once there is room for all that it may send.
      if (/^100-continue$/i.test(raw.headers.expect ?? '')) {
        await Promise.race([this.#room.hold(this.#declaredBytes ?? this.#bytesMax), promise]);
        reply.raw.writeContinue();
      }
      raw.on('data', onData);
      await promise;
      const body = this.#pieces.join();
      this.#room.shrink(body.length);
      return body;
    } finally {
      raw.off('data', onData).off('end', resolve).off('close', onCut);
    }
  }

  /** Called once in each round; those who wait hold as much as is said here, or more. */
  look(leastWaitingBytes: number): void {
    if (this.#room.isWaiting || this.bytes - this.#quickBytes >= leastBytes) {
      this.#quickBytes = this.bytes;
      this.#slowRounds = 0;
      return;
    }
    this.#slowRounds += 1;
    if (this.#slowRounds > leastRounds && this.#room.sharedBytes >= leastWaitingBytes) {
      this.#ended.reject(new TooSlow(leastBytes / 1024, leastRounds));
    }
  }

  #take(chunk: Buffer): void {
    const pieces = this.#pieces;
    pieces.add(chunk);
    if (pieces.bytes > this.#bytesMax) {
      this.#ended.reject(tooLarge(this.#bytesMax));
      return;
    }
    const waiting = this.#room.hold(this.#neededBytes());
    if (waiting === undefined) {
      this.#putTogether();
      return;
    }
    this.#raw.pause();
    waiting.then(() => {
      this.#putTogether();
      this.#raw.resume();
    }, this.#ended.reject);
  }

  #neededBytes(): number {
    const { heldBytes } = this.#pieces;
    const declared = this.#declaredBytes;
    if (declared !== undefined)
      return heldBytes > countedBytesMax ? Math.max(heldBytes, declared) : heldBytes;
    if (heldBytes <= firstStepBytes) return heldBytes;
    let step = firstStepBytes;
    while (step < heldBytes) step *= stepFactor;
    return Math.max(heldBytes, Math.min(step, this.#bytesMax));
  }

  /** Once there is room for all of it. */
  #putTogether(): void {
    const declared = this.#declaredBytes;
    if (this.#isTogether || declared === undefined || this.#pieces.heldBytes <= countedBytesMax) return;
    this.#isTogether = true;
    this.#pieces.expect(declared);
  }

  get #declaredBytes(): number | undefined {
    const length = this.#raw.headers['content-length'];
    return length === undefined ? undefined : Number(length);
  }
}
