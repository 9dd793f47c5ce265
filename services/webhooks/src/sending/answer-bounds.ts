// Bounds the length of an answer, in bytes of the socket. The HTTP client does not pass on the bytes of informational answers,
// chunk extensions and trailers, which a receiver can send without end. A read may bring a single byte, so the number of reads is
// bounded as well.
import type { Socket } from 'node:net';
import { AnswerTooLong } from './attempt-outcome.ts';

const answerBytesMax = 256 * 1024;
/** How many reads an answer may take. Reads of an ordinary answer return more than 256 bytes on average. */
const readsMax = 1_024;
/** The HTTP client parses the whole read: once headers are too large, each further field costs an error, 60 ms for 64 KiB. */
const chunkBytesMax = 2 * 1024;
const informationalMax = 10;

/** Makes the socket fail if an answer exceeds the bounds. The next request on a kept socket starts the counts again. */
export function boundAnswers(socket: Socket): Socket {
  const read = socket.read.bind(socket);
  let written = socket.bytesWritten;
  let bytes = 0;
  let reads = 0;
  socket.read = (size) => {
    // The HTTP client calls `read` once more after an answer that was too long has destroyed the socket.
    if (socket.destroyed) return null;
    const { readableLength } = socket;
    // If no bytes are buffered, `read` gets no size: it then asks the operating system for bytes.
    const chunk: Buffer | null = read(size ?? (readableLength > chunkBytesMax ? chunkBytesMax : undefined));
    if (chunk === null) return null;
    // New written bytes mean a new request, because with `pipelining: 1` the HTTP client writes only when it begins a request.
    if (socket.bytesWritten !== written) {
      written = socket.bytesWritten;
      bytes = 0;
      reads = 0;
    }
    bytes += chunk.length;
    reads += 1;
    if (bytes <= answerBytesMax && reads <= readsMax) return chunk;
    const what =
      bytes > answerBytesMax
        ? `has more than ${answerBytesMax / 1024} KiB in all`
        : `comes in more than ${readsMax} pieces`;
    socket.destroy(new AnswerTooLong(`the answer ${what}`));
    return null;
  };
  return socket;
}

/** The error if too many informational (1xx) answers came before the final answer. */
export const refuseInformational = (count: number): AnswerTooLong | undefined =>
  count > informationalMax
    ? new AnswerTooLong(`more than ${informationalMax} informational answers came before the answer`)
    : undefined;
