// Checks the headers of a request about its body: type, coding and length; only where the route takes a body
// (server/request-checks.ts). The gateway does not parse a body; only the service of the route does.
import type { IncomingMessage } from 'node:http';
import { Failure } from '@integration-sync/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Throws a `Failure` for wrong headers. A request without a body passes: the service says whether a body is needed. */
export function checkBodyHeaders(request: FastifyRequest, reply: FastifyReply, bytesMax: number): void {
  const { headers } = request.raw;
  const type = headers['content-type'];
  if ((type !== undefined || hasBody(request.raw)) && !isOfType('application/json', type)) {
    reply.header('accept', 'application/json');
    const found = type === undefined ? 'there was none' : `it was ${quoted(type)}`;
    throw unsupported(`with the header "Content-Type: application/json", in UTF-8; ${found}`);
  }
  const coding = headers['content-encoding'] ?? '';
  if (coding !== '' && coding.toLowerCase() !== 'identity') {
    reply.header('accept-encoding', 'identity');
    throw unsupported(`as it is, without Content-Encoding ${quoted(coding)}`);
  }
  const transfer = headers['transfer-encoding'];
  if (transfer !== undefined && transfer.toLowerCase() !== 'chunked')
    throw unsupported(`as it is, without Transfer-Encoding ${quoted(transfer)}`);
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw tooLarge(bytesMax);
}

/** Whether the client waits for 100 Continue before it sends the body. HTTP/1.0 has no informational answers. */
export const waitsForContinue = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion === '1.1' && /^100-continue$/i.test(headers.expect ?? '');

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** JSON and forms are UTF-8, so that no other charset passes. The gateway ignores other parameters of the type. */
export function isOfType(wanted: string, type = ''): boolean {
  const [essence = '', ...parameters] = type.toLowerCase().split(';');
  if (essence.trim() !== wanted) return false;
  return parameters
    .map((parameter) => parameter.trim())
    .filter((parameter) => parameter.startsWith('charset='))
    .every((parameter) => /^charset="?utf-?8"?$/.test(parameter));
}

const unsupported = (how: string): Failure => new Failure('unsupported_media_type', `Send the body ${how}.`);

const quoted = (text: string): string => JSON.stringify(text.slice(0, 100));

export const tooLarge = (bytesMax: number): Failure =>
  new Failure(
    'body_too_large',
    `The body is larger than ${bytesMax} bytes. Split the push into smaller ones.`,
  );
