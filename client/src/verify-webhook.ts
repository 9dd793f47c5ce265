// Verifies the signature of a delivery, by Standard Webhooks 1.0. The signature is computed from the received bytes: JSON that
// was parsed and written again has another signature.
import type { Event } from './types.ts';

export type WebhookRefusal = 'missing_header' | 'too_old' | 'too_new' | 'no_match';

/** The error for a delivery that is forged, or that is old and was sent again: answer 400 to such a delivery. */
export class WebhookRefused extends Error {
  override readonly name = 'WebhookRefused';
  readonly reason: WebhookRefusal;

  constructor(reason: WebhookRefusal, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** The body of a test delivery, which `webhooks.test` asks for. A test delivery is no event. */
export interface TestDelivery {
  event: 'webhook.test';
  timestamp: string;
  integrationId: string;
  data: { webhookId: string };
}

export interface ReceivedWebhook {
  /** The secret of the webhook, from the answer to its registration or rotation: `whsec_…`. */
  secret: string;
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The body as it was received, before any parser: as text or as bytes. */
  body: string | ArrayBuffer | ArrayBufferView;
  /** How far `webhook-timestamp` may be from the present time: five minutes by default. */
  toleranceSeconds?: number;
}

const algorithm = { name: 'HMAC', hash: 'SHA-256' };
/** The fewest bytes of a key. With an empty key, for example, anybody could sign. */
const keyBytesMin = 24;
const toleranceSecondsDefault = 300;

export async function verifyWebhook(received: ReceivedWebhook): Promise<Event | TestDelivery> {
  const { secret, headers, body, toleranceSeconds = toleranceSecondsDefault } = received;
  const key = bytesOf(secret.replace(/^whsec_/, ''));
  if (key === undefined || key.length < keyBytesMin) {
    throw new TypeError('the secret is not whsec_… as the registration showed it');
  }
  const raw = rawBytesOf(body);
  const id = needed(headers, 'webhook-id');
  const timestamp = needed(headers, 'webhook-timestamp');
  const signatures = needed(headers, 'webhook-signature');

  const ageSeconds = Date.now() / 1_000 - (/^\d{1,15}$/.test(timestamp) ? Number(timestamp) : 0);
  if (ageSeconds > toleranceSeconds)
    throw new WebhookRefused('too_old', `webhook-timestamp ${timestamp} is too old`);
  if (ageSeconds < -toleranceSeconds)
    throw new WebhookRefused('too_new', `webhook-timestamp ${timestamp} is in the future`);

  const signed = concatenate(encode(`${id}.${timestamp}.`), raw);
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['verify']);
  // During the rotation of a secret a delivery has two signatures; one valid signature is enough.
  for (const signature of signatures.split(' ')) {
    const given = signature.startsWith('v1,') ? bytesOf(signature.slice(3)) : undefined;
    // `verify` compares in constant time, so that its duration reveals nothing about the valid signature.
    if (given !== undefined && (await crypto.subtle.verify(algorithm, imported, given, signed))) {
      return JSON.parse(new TextDecoder().decode(raw));
    }
  }
  throw new WebhookRefused('no_match', 'no signature in webhook-signature fits the body and the secret');
}

/** The bytes of a body. The type is checked, because a framework may pass a parsed body. */
function rawBytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return encode(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  if (isArrayBuffer(body)) return new Uint8Array(body);
  const got = body === null ? 'null' : `a value of type ${typeof body}`;
  throw new TypeError(`body: pass the raw text or bytes as received, before any parser; got ${got}`);
}

/** Whether a value is an ArrayBuffer of any realm: `instanceof` is false for an ArrayBuffer of another realm. */
const isArrayBuffer = (value: unknown): value is ArrayBuffer =>
  Object.prototype.toString.call(value) === '[object ArrayBuffer]';

function needed(headers: ReceivedWebhook['headers'], name: string): string {
  const value =
    headers instanceof Headers
      ? headers.get(name)
      : Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  if (typeof value === 'string' && value !== '') return value;
  throw new WebhookRefused('missing_header', `the header ${name} is missing`);
}

const encoder = new TextEncoder();
const encode = (text: string): Uint8Array<ArrayBuffer> => encoder.encode(text);

function concatenate(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}
