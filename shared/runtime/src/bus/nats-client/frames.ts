// Many messages as the bytes that go over the line, as the client would write them.
//
// Observed: the client (@nats-io/nats-core 3.4.0) makes half a dozen objects of each message that it is given, and hands each to
// its connection alone; of a message's headers it checks and encodes one by one, which for 500 messages is most of what
// publishing them costs.
import type { NatsConnection } from '@nats-io/nats-core';
import { MsgHdrsImpl, NatsConnectionImpl } from '@nats-io/nats-core/internal';

export interface Frame {
  subject: string;
  /** With the line break of each. */
  headerLines: string;
  body: Uint8Array | string;
}

const lineBreak = Buffer.from('\r\n');

/** Throws as the client does where it is closed, or where nats-server would not take a message. */
export function publishFrames(nats: NatsConnection, frames: readonly Frame[], payloadBytesMax: number): void {
  if (!(nats instanceof NatsConnectionImpl))
    throw new TypeError('this is not the connection of NATS that it was');
  const { protocol } = nats;
  let text = '';
  let checked = '';
  for (const { subject, headerLines, body } of frames) {
    if (subject !== checked) nats._check(subject, false, true);
    checked = subject;
    const headers = `NATS/1.0\r\n${headerLines}\r\n`;
    const headerBytes = Buffer.byteLength(headers);
    const bytes = headerBytes + Buffer.byteLength(body);
    // nats-server would end the connection.
    if (bytes > payloadBytesMax)
      throw new RangeError(`a message of ${bytes} bytes is over ${payloadBytesMax}`);
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

/** Headers that are bytes already. */
export class RawHeaders extends MsgHdrsImpl {
  readonly #bytes: Uint8Array;

  /** With the line break of each. */
  constructor(lines: string) {
    super();
    this.#bytes = Buffer.from(`NATS/1.0\r\n${lines}\r\n`);
  }

  override encode(): Uint8Array {
    return this.#bytes;
  }
}
