// One request and its answer, byte for byte, on a connection of its own.
import { connect } from 'node:net';

export interface Answer {
  status: number;
  headers: ReadonlyMap<string, string>;
  body: string;
}

/** The answer; `hung` if no answer came in time, `closed` if the connection ended without an answer. */
export type Outcome = Answer | 'hung' | 'closed';

export function exchange(port: number, bytes: Buffer, withinMs: number): Promise<Outcome> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    const end = (outcome: Outcome): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(outcome);
    };
    const timer = setTimeout(() => end('hung'), withinMs);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const answer = readAnswer(received);
      if (answer !== undefined) end(answer);
    });
    // An answer that came before the other side cut the connection still counts.
    socket.on('error', () => undefined);
    socket.on('close', () => end('closed'));
    socket.write(bytes);
  });
}

function readAnswer(received: Buffer): Answer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end === -1) return undefined;
  const [statusLine = '', ...lines] = received.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(statusLine.split(' ')[1]);
  if (status < 200) return readAnswer(received.subarray(end + 4));
  const headers = new Map(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 2)]),
  );
  const length = Number(headers.get('content-length') ?? 0);
  const body = received.subarray(end + 4, end + 4 + length);
  if (body.length < length) return undefined;
  return { status, headers, body: body.toString() };
}
