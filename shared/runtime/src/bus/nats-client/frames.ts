// Writes many messages as the bytes of the NATS protocol, as the client would write them.
//
// Observed: the client (@nats-io/nats-core 3.4.0) makes half a dozen objects for each message and passes each message to its
// connection alone. The client also checks and encodes headers one by one: for 500 messages, most of the cost of publishing.
import type { NatsConnection } from '@nats-io/nats-core';
import { MsgHdrsImpl, NatsConnectionImpl } from '@nats-io/nats-core/internal';

export interface Frame {
  subject: string;
  /** Header lines, each with its line break. */
  headerLines: string;
  body: Uint8Array | string;
}

const lineBreak = Buffer.from('\r\n');

/** Throws as the client does if it is closed, and for a message that nats-server would refuse. */
export function publishFrames(nats: NatsConnection, frames: readonly Frame[], payloadBytesMax: number): void {
  if (!(nats instanceof NatsConnectionImpl))
    throw new TypeError('the connection is not of the class that @nats-io/nats-core makes');
  const { protocol } = nats;
  let text = '';
  let checked = '';
  for (const { subject, headerLines, body } of frames) {
    if (subject !== checked) nats._check(subject, false, true);
    checked = subject;
    const headers = `NATS/1.0\r\n${headerLines}\r\n`;
    const headerBytes = Buffer.byteLength(headers);
    const bytes = headerBytes + Buffer.byteLength(body);
    // For a message beyond `max_payload`, nats-server closes the connection.
    if (bytes > payloadBytesMax)
      throw new RangeError(`a message has ${bytes} bytes, and nats-server takes ${payloadBytesMax} at most`);
    protocol.outMsgs += 1;
    protocol.outBytes += bytes;
    text += `HPUB ${subject} ${headerBytes} ${bytes}\r\n${headers}`;
    if (typeof body === 'string') text += `${body}\r\n`;
    else {
      protocol.sendCommand(Buffer.from(text), body, lineBreak);
      text = '';
    }
  }
  if (text !== '') protocol.sendCommand(Buffer.from(text));
}

/** Headers that are encoded once, in the constructor. */
export class RawHeaders extends MsgHdrsImpl {
  readonly #bytes: Uint8Array;

  /** `lines`: header lines, each with its line break. */
  constructor(lines: string) {
    super();
    this.#bytes = Buffer.from(`NATS/1.0\r\n${lines}\r\n`);
  }

  override encode(): Uint8Array {
    return this.#bytes;
  }
}
