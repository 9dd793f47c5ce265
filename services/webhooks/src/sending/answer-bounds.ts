// How long an answer may be. The bound is on the bytes of the socket: a receiver can send informational answers, chunk
// extensions and trailers without end, and the HTTP client hands on none of those bytes. Single bytes cost a read each, so
// that the number of reads has a bound as well.
import type { Socket } from 'node:net';
import { AnswerTooLong } from './outcome.ts';

const answerBytesMax = 256 * 1024;
/** Of 64 bytes on average, which no ordinary answer falls short of. */
const readsMax = 4_096;
const informationalMax = 10;

/**
 * The same socket; it ends with an error where the receiver sends more than the bound after a request. The next request
 * on a kept socket starts the count again.
 */
export function boundAnswers(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  let written = socket.bytesWritten;
  let bytes = 0;
  let reads = 0;
  socket.read = (size) => {
    const chunk: Buffer | null = read(size);
    if (chunk === null) return null;
    // With `pipelining: 1` the HTTP client writes only when it begins a request.
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      bytes = 0;
      reads = 0;
    }
    bytes += chunk.length;
    reads += 1;
    const refusal = refuseLength(bytes, reads);
    if (refusal === undefined) return chunk;
    socket.destroy(refusal);
    return null;
  };
  return socket;
}

function refuseLength(bytes: number, reads: number): AnswerTooLong | undefined {
  if (bytes > answerBytesMax)
    return new AnswerTooLong(`the answer has more than ${answerBytesMax / 1024} KiB in all`);
  return reads > readsMax ? new AnswerTooLong(`the answer comes in more than ${readsMax} pieces`) : undefined;
}

/** Why an answer that begins with so many informational ones is read no further, if so. */
export const refuseInformational = (count: number): AnswerTooLong | undefined =>
  count > informationalMax
    ? new AnswerTooLong(`more than ${informationalMax} informational answers came before the answer`)
    : undefined;
