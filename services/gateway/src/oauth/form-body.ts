// Reads the form of a request for a token. It is small: the gateway reads 8 KiB at most, and keeps it in one buffer.
import type { FastifyReply, FastifyRequest } from 'fastify';
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
  const form = Buffer.alloc(formBytesMax);
  let bytes = 0;
  // The connection stays open behind it, for the answer.
  for await (const chunk of raw.iterator({ destroyOnReturn: false })) {
    if (!Buffer.isBuffer(chunk) || bytes + chunk.length > formBytesMax) throw tooLarge();
    bytes += chunk.copy(form, bytes);
    exchange.bytesIn = bytes;
  }
  return form.subarray(0, bytes);
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
