// Finds the ends of requests in the bytes of a connection, so that Node's parser gets one request at a time. `RequestCuts`
// knows only the end of a head and the length of a body. A head ends with an empty line, and so does a chunked body. The data
// of a chunked body may hold empty lines too: Node's parser knows whether an empty line was the end.
import type { IncomingMessage } from 'node:http';

/** Node's parser accepts no line end but CRLF. */
const emptyLine = Buffer.from('\r\n\r\n');
/** The length of the shortest head. HTTP allows empty lines before a head: an empty line within fewer bytes ends no head. */
const headBytesMin = 'GET / HTTP/1.1'.length;
const noBytes = Buffer.alloc(0);

type Phase = 'between' | 'head' | 'body' | 'chunks';

export class RequestCuts {
  #phase: Phase = 'between';
  /** The last bytes that were read of a head or of a chunked body: an empty line may have begun in them. */
  #tail: Buffer = noBytes;
  #bodyBytesLeft = 0;
  #request: IncomingMessage | undefined;

  /** Whether the next byte belongs to a request that has begun. */
  get isUnderWay(): boolean {
    return this.#phase === 'chunks' ? this.#request?.complete === false : this.#phase !== 'between';
  }

  /** Returns the index `end` so that the bytes from `at` to `end` belong to one request at most. */
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

  /** Called when Node's parser has read the head of this request. */
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

/** Copies the last bytes of a chunk, so that they do not keep the whole buffer of the chunk in memory. */
const lastOf = (tail: Buffer, bytes: Buffer): Buffer =>
  Buffer.concat([tail, bytes.subarray(1 - emptyLine.length)]).subarray(1 - emptyLine.length);
