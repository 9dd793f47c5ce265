// Where the requests of one connection end in its bytes, so that Node's parser is handed one of them at a time. It reads no
// more of them than that: the end of a head, and what the head says about its body. A head ends with an empty line, and so
// does a chunked body, whose data may have empty lines as well; Node's parser knows of each whether it was the end.
import type { IncomingMessage } from 'node:http';

/** Node's parser takes no other end of a line. */
const emptyLine = Buffer.from('\r\n\r\n');
/** No request is shorter: an empty line among the first bytes of a head is one before it, which HTTP allows. */
const headBytesMin = 'GET / HTTP/1.1'.length;
const noBytes = Buffer.alloc(0);

type Phase = 'between' | 'head' | 'body' | 'chunks';

export class RequestCuts {
  #phase: Phase = 'between';
  /** The last bytes of a head or of chunks, among which an empty line may have begun. */
  #tail: Buffer = noBytes;
  #bodyBytesLeft = 0;
  #request: IncomingMessage | undefined;

  /** Whether the next byte belongs to a request that has begun. */
  get isUnderWay(): boolean {
    return this.#phase === 'chunks' ? this.#request?.complete === false : this.#phase !== 'between';
  }

  /** Up to where the bytes from `at` on have the end of one request at most, and nothing of another behind it. */
  cut(bytes: Buffer, at: number): number {
    if (!this.isUnderWay) this.#phase = 'between';
    if (this.#phase === 'body') {
      const end = Math.min(bytes.length, at + this.#bodyBytesLeft);
      this.#bodyBytesLeft -= end - at;
      if (this.#bodyBytesLeft === 0) this.#phase = 'between';
      return end;
    }
    const end = this.#findEmptyLine(bytes, at);
    if (this.#phase !== 'chunks') this.#phase = end === undefined ? 'head' : 'between';
    this.#tail = end === undefined ? lastOf(this.#tail, bytes.subarray(at)) : noBytes;
    return end ?? bytes.length;
  }

  /** The parser has read the head of this request. */
  begin(request: IncomingMessage): void {
    const { headers } = request;
    this.#request = request;
    this.#bodyBytesLeft = Number(headers['content-length'] ?? 0);
    if (headers['transfer-encoding'] !== undefined) this.#phase = 'chunks';
    else if (this.#bodyBytesLeft > 0) this.#phase = 'body';
  }

  #findEmptyLine(bytes: Buffer, at: number): number | undefined {
    const tail = this.#tail;
    if (tail.length > 0) {
      const seam = Buffer.concat([tail, bytes.subarray(at, at + emptyLine.length - 1)]);
      const found = seam.indexOf(emptyLine);
      if (found !== -1) return at + found + emptyLine.length - tail.length;
    }
    const found = bytes.indexOf(emptyLine, this.#phase === 'between' ? at + headBytesMin : at);
    return found === -1 ? undefined : found + emptyLine.length;
  }
}

/** Copied, so that a few bytes do not keep all of them in memory. */
const lastOf = (tail: Buffer, bytes: Buffer): Buffer =>
  Buffer.concat([tail, bytes.subarray(1 - emptyLine.length)]).subarray(1 - emptyLine.length);
