// Reads the form of a request for a token. It is small: the gateway reads 8 KiB at most, and keeps it in one buffer.
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Exchange } from '../server/exchange.ts';
import { invalidRequest } from './refusal.ts';

const formBytesMax = 8 * 1024;

export async function readFormBody({ raw, exchange }: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
  const { headers } = raw;
  if (!isForm(headers['content-type'])) {
    throw invalidRequest('Send the form as application/x-www-form-urlencoded.');
  }
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') throw invalidRequest('Send the form without Content-Encoding.');
  if (Number(headers['content-length'] ?? 0) > formBytesMax) throw tooLarge();
  if (/^100-continue$/i.test(headers.expect ?? '')) reply.raw.writeContinue();
  return await readBytes(raw, exchange);
}

/** Of a form that is too large the answer reads and drops what still comes (lingering.ts). */
function readBytes(raw: IncomingMessage, exchange: Exchange): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const form = Buffer.alloc(formBytesMax);
  raw.on('data', (chunk: Buffer) => {
    const at = exchange.bytesIn;
    exchange.bytesIn += chunk.length;
    if (exchange.bytesIn > formBytesMax) reject(tooLarge());
    // Copied, as each chunk of a client that sends single bytes holds on to all that was read with it.
    else chunk.copy(form, at);
  });
  const onCut = (): void => {
    // Every request closes, most of them once their form is there.
    if (!raw.readableEnded) reject(invalidRequest('The form ended before it was complete.'));
  };
  raw.once('end', () => resolve(form.subarray(0, exchange.bytesIn)));
  raw.once('close', onCut).once('error', onCut);
  return promise;
}

const tooLarge = () => invalidRequest(`The form is larger than ${formBytesMax} bytes.`);

function isForm(type = ''): boolean {
  const [essence = '', ...parameters] = type.toLowerCase().split(';');
  if (essence.trim() !== 'application/x-www-form-urlencoded') return false;
  return parameters
    .map((parameter) => parameter.trim())
    .filter((parameter) => parameter.startsWith('charset='))
    .every((parameter) => /^charset="?utf-?8"?$/.test(parameter));
}
