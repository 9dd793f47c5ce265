// HTTP byte by byte, for what no well-behaved client sends.
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { awake } from './awake.ts';
import { patienceMs } from './eventually.ts';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface RawConnection extends Disposable {
  socket: Socket;
  send(bytes: string | Buffer): void;
  /** The next answer; rejects if none comes within `withinMs` by the clock, or the default bound by `awake()`. */
  answer(withinMs?: number): Promise<RawAnswer>;
  /** Resolves when the connection is closed. */
  closed: Promise<void>;
}

export async function openRaw(port: number): Promise<RawConnection> {
  const socket = connect(port, '127.0.0.1');
  let received = Buffer.alloc(0);
  // Chunks are joined only when a test reads an answer: joining megabytes at each chunk would take seconds.
  const chunks: Buffer[] = [];
  let failure: Error | undefined;
  const closed = Promise.withResolvers<void>();
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  socket.on('error', (error) => {
    failure = error;
  });
  socket.on('close', () => closed.resolve());
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    closed: closed.promise,
    send: (bytes) => void socket.write(bytes),
    async answer(withinMs) {
      const now = withinMs === undefined ? awake : Date.now;
      const forMs = withinMs ?? patienceMs;
      const endsAt = now() + forMs;
      for (;;) {
        if (chunks.length > 0) received = Buffer.concat([received, ...chunks.splice(0)]);
        const parsed = parseAnswer(received);
        if (parsed !== undefined) {
          received = received.subarray(parsed.length);
          return parsed.answer;
        }
        if (socket.destroyed) throw new Error(`closed without an answer (${failure?.message ?? 'no error'})`);
        if (now() > endsAt) throw new Error(`no answer within ${forMs} ms, but ${received.toString()}`);
        await wait(5);
      }
    },
    [Symbol.dispose]: () => socket.destroy(),
  };
}

/** Sends the bytes on a connection of their own, and returns the first answer. */
export async function exchangeRaw(port: number, bytes: string | Buffer): Promise<RawAnswer> {
  using connection = await openRaw(port);
  connection.send(bytes);
  return await connection.answer();
}

function parseAnswer(received: Buffer): { answer: RawAnswer; length: number } | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  const length = Number(headers['content-length'] ?? 0);
  const body = received.subarray(end + 4, end + 4 + length);
  if (body.length < length) return undefined;
  const answer = { status: Number(statusLine.split(' ')[1]), headers, body: body.toString() };
  return { answer, length: end + 4 + length };
}
