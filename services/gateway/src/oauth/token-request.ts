// Reads a token request from its form and its Authorization header: RFC 6749 §4.4.2 and §2.3.1.
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { isOfType, waitsForContinue } from '../body/body-headers.ts';
import type { Exchange } from '../server/exchange.ts';
import { OAuthRefusal, invalidClient, invalidRequest } from './refusal.ts';

export interface TokenRequest {
  clientId: string;
  secret: string;
  /** The requested scopes; undefined if the client asks for all its scopes. */
  scope: readonly string[] | undefined;
}

export function readTokenRequest(body: Uint8Array, authorization: string | undefined): TokenRequest {
  const form = readForm(body);
  const grant = form.get('grant_type');
  if (grant === undefined) throw invalidRequest('The form needs grant_type=client_credentials.');
  if (grant !== 'client_credentials') {
    throw new OAuthRefusal('unsupported_grant_type', 'The only grant_type here is client_credentials.');
  }
  const { clientId, secret } = readCredentials(form, authorization);
  const scope = form
    .get('scope')
    ?.split(' ')
    .filter((word) => word !== '');
  return { clientId, secret, scope };
}

function readCredentials(
  form: ReadonlyMap<string, string>,
  authorization: string | undefined,
): Pick<TokenRequest, 'clientId' | 'secret'> {
  const [clientId, secret] = [form.get('client_id'), form.get('client_secret')];
  if (authorization !== undefined) {
    const basic = readBasic(authorization);
    // The form may repeat the client id, but not the secret: that would be a second method of authentication.
    if (secret !== undefined || (clientId !== undefined && clientId !== basic.clientId)) {
      throw invalidRequest('Send the client id and secret in one way: by Basic or in the form, not both.');
    }
    return basic;
  }
  if (clientId === undefined || secret === undefined) {
    throw invalidClient('Send the client id and its secret, by Basic or as client_id and client_secret.');
  }
  return { clientId, secret };
}

/** RFC 6749 §2.3.1: the client id and the secret are form-encoded before a colon joins them. */
function readBasic(authorization: string): Pick<TokenRequest, 'clientId' | 'secret'> {
  const encoded = /^basic +(?<encoded>[A-Za-z0-9+/]+={0,2})$/i.exec(authorization)?.groups?.['encoded'];
  if (encoded === undefined) throw invalidClient('The token endpoint takes Basic, and no other scheme.');
  const [, clientId, secret] = /^([^:]*):(.*)$/s.exec(textOf(Buffer.from(encoded, 'base64'))) ?? [];
  if (clientId === undefined || secret === undefined) {
    throw invalidClient('Basic holds the client id, a colon and the secret.');
  }
  return { clientId: decode(clientId), secret: decode(secret) };
}

/** Reads a form. A parameter without a value counts as absent (RFC 6749 §3.2), and no parameter may occur twice. */
function readForm(body: Uint8Array): ReadonlyMap<string, string> {
  const form = new Map<string, string>();
  for (const pair of textOf(body).split('&')) {
    if (pair === '') continue;
    const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
    const key = decode(name);
    if (form.has(key)) throw invalidRequest('A parameter of the form is repeated.');
    form.set(key, decode(value));
  }
  return new Map([...form].filter(([, value]) => value !== ''));
}

function textOf(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw invalidRequest('The request is not UTF-8.');
  return Buffer.from(bytes).toString();
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw invalidRequest('The request cannot be decoded: it must be application/x-www-form-urlencoded.');
  }
}

// The form of a token request is small: the gateway reads 8 KiB at most, into one buffer.

const formBytesMax = 8 * 1024;

export const isForm = ({ headers }: IncomingMessage): boolean =>
  isOfType('application/x-www-form-urlencoded', headers['content-type']);

export async function readFormBody({ raw, exchange }: FastifyRequest, reply: FastifyReply): Promise<Buffer> {
  const { headers } = raw;
  if (!isForm(raw)) throw invalidRequest('Send the form as application/x-www-form-urlencoded.');
  const coding = headers['content-encoding'] ?? 'identity';
  if (coding.toLowerCase() !== 'identity') throw invalidRequest('Send the form without Content-Encoding.');
  if (Number(headers['content-length'] ?? 0) > formBytesMax) throw tooLarge();
  if (waitsForContinue(raw)) reply.raw.writeContinue();
  return await readBytes(raw, exchange);
}

/** Reads a form up to the bound. The gateway drops the rest of a larger form while it answers (lingering.ts). */
function readBytes(raw: IncomingMessage, exchange: Exchange): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const form = Buffer.alloc(formBytesMax);
  raw.on('data', (chunk: Buffer) => {
    const at = exchange.bytesIn;
    exchange.bytesIn += chunk.length;
    if (exchange.bytesIn > formBytesMax) reject(tooLarge());
    // Each chunk is copied, because a chunk of even one byte would keep the whole buffer of a socket read in memory.
    else chunk.copy(form, at);
  });
  const onCut = (): void => {
    // Every request emits `close`, mostly after the form is complete.
    if (!raw.readableEnded) reject(invalidRequest('The form ended before it was complete.'));
  };
  raw.once('end', () => resolve(form.subarray(0, exchange.bytesIn)));
  raw.once('close', onCut).once('error', onCut);
  return promise;
}

const tooLarge = () => invalidRequest(`The form is larger than ${formBytesMax} bytes.`);
