// The twelve deliveries of a drill, and the answer of a careful receiver to each. A delivery that the receiver must accept is
// valid, and differs from an ordinary delivery only in a way that the service may use at any time. A delivery that the receiver
// must refuse has one fault.
//
//   what is different in a delivery              the mistake of a receiver that the delivery finds
//   ───────────────────────────────────────────  ───────────────────────────────────────────────────────────────
//   the last byte of its signatures              verifies nothing, or compares the beginning of a signature
//   the secret that signed it                    looks at the form of a signature alone
//   the last byte of its body, `]` in place of } parses before it verifies, or does not sign the body
//   the blanks of its JSON                       signs JSON that it has parsed and written again
//   a first signature that is of another secret  looks at one signature alone, also while a secret is rotated
//   the time of its event, two days ago          takes the time of the event for the time of the delivery
import { randomUUID } from 'node:crypto';
import { type DrillCheck, testKind } from '@integration-sync/contracts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { makeSecret, signingKeyOf } from '../secrets/signing-secret.ts';
import { type AttemptToSign, type Signable, signedHeaders } from '../sending/delivery-headers.ts';

type HeadersOf = (attempt: AttemptToSign) => string[];

export interface Check extends Pick<DrillCheck, 'name' | 'expected'> {
  advice: string;
  sending: Signable & { headersOf: HeadersOf };
}

interface Form extends Omit<Check, 'sending'> {
  event?: string;
  ageMs?: number;
  write?: (delivery: Delivery) => string;
  headersOf?: HeadersOf;
}

interface Delivery {
  event: string;
  timestamp: string;
  integrationId: string;
  data: { webhookId: string; padding?: string };
}

const hourMs = 60 * 60 * 1_000;
const largeBytes = 256 * 1024;

const padded = (delivery: Delivery): string => {
  const write = (padding: string): string =>
    JSON.stringify({ ...delivery, data: { ...delivery.data, padding } });
  return write('.'.repeat(largeBytes - write('').length));
};

/** Changes the last byte of a body: `}` becomes `]`, and `]` becomes `}`. */
function withOtherEnd(body: Uint8Array): Uint8Array {
  const changed = Buffer.from(body);
  const last = changed.length - 1;
  changed.writeUInt8(changed.readUInt8(last) ^ 0x20, last);
  return changed;
}

const signedBefore: HeadersOf = (attempt) =>
  signedHeaders({
    ...attempt,
    sending: { ...attempt.sending, body: withOtherEnd(attempt.sending.body) },
  });

const signedByOther: HeadersOf = (attempt) => signedHeaders({ ...attempt, keys: [otherKey()] });

/** Signs with a new and the former secret, as during the grace period of a rotation. */
const signedAsRotated: HeadersOf = (attempt) =>
  signedHeaders({ ...attempt, keys: [otherKey(), ...attempt.keys] });

const signedAnHourAgo: HeadersOf = (attempt) =>
  signedHeaders({ ...attempt, at: new Date(attempt.at.getTime() - hourMs) });

const otherKey = () => signingKeyOf(makeSecret());

/** Calls `change` for each header that is a signature; leaves the header out where `change` answers undefined. */
const withSignatures =
  (change: (value: string, name: string) => string | undefined): HeadersOf =>
  (attempt) => {
    const headers = signedHeaders(attempt);
    return headers.flatMap((name, index) => {
      const value = headers[index + 1] ?? '';
      if (index % 2 === 1) return [];
      const changed = name.endsWith('-signature') ? change(value, name) : value;
      return changed === undefined ? [] : [name, changed];
    });
  };

const unsigned = withSignatures(() => undefined);

const wronglySigned = withSignatures((value, name) => {
  if (name === 'x-webhook-signature') return withOtherLastBit(value, 'hex');
  return value
    .split(' ')
    .map((signature) => `v1,${withOtherLastBit(signature.replace('v1,', ''), 'base64')}`)
    .join(' ');
});

function withOtherLastBit(signature: string, encoding: 'hex' | 'base64'): string {
  const bytes = Buffer.from(signature, encoding);
  const last = bytes.length - 1;
  bytes.writeUInt8(bytes.readUInt8(last) ^ 1, last);
  return bytes.toString(encoding);
}

const ifRefused =
  'If the receiver refuses it, the delivery is tried four times and given up; ten failures in a row disable the webhook.';

const forms: readonly Form[] = [
  {
    name: 'first-delivery',
    expected: '2xx',
    advice:
      'This is an ordinary delivery. Verify webhook-signature with the secret of this webhook, over webhook-id, webhook-timestamp and the raw body.',
  },
  {
    name: 'same-event-again',
    expected: '2xx',
    advice: `An event can come twice, under one webhook-id. The receiver may answer 2xx and ignore it. ${ifRefused}`,
  },
  {
    name: 'replayed-event',
    expected: '2xx',
    ageMs: 48 * hourMs,
    advice:
      'A replay or a late attempt sends an old event: its X-Webhook-Timestamp is days ago. Compare webhook-timestamp alone with the clock.',
  },
  {
    name: 'json-with-blanks',
    expected: '2xx',
    write: (delivery) => JSON.stringify(delivery, null, 2),
    advice: 'Verify the bytes as they came: JSON that was parsed and written again has another signature.',
  },
  {
    name: 'former-secret',
    expected: '2xx',
    headersOf: signedAsRotated,
    advice:
      'While a secret is rotated, webhook-signature has two signatures, separated by a space: one that fits is enough. X-Webhook-Signature is of the new secret alone.',
  },
  {
    name: 'unknown-kind',
    expected: '2xx',
    event: 'webhook.drill',
    advice: `A webhook may be registered for a kind that its receiver does not know. The receiver may answer 2xx and ignore it. ${ifRefused}`,
  },
  {
    name: 'large-body',
    expected: '2xx',
    write: padded,
    advice: 'This body has 256 KiB. Raise the bound of the server, which is 100 KiB in some frameworks.',
  },
  {
    name: 'wrong-signature',
    expected: '4xx',
    headersOf: wronglySigned,
    advice:
      'The end of its signature is wrong. Compare whole signatures, in constant time, and refuse with 4xx.',
  },
  {
    name: 'other-endpoint',
    expected: '4xx',
    headersOf: signedByOther,
    advice:
      'The secret of another webhook has signed it. Verify with the secret of this webhook alone, and refuse with 4xx.',
  },
  {
    name: 'old-timestamp',
    expected: '4xx',
    headersOf: signedAnHourAgo,
    advice:
      'Its webhook-timestamp is an hour ago. Refuse more than five minutes with 4xx, so that no recorded delivery can be sent again. X-Webhook-Signature does not cover that time: verify webhook-signature.',
  },
  {
    name: 'no-signature',
    expected: '4xx',
    headersOf: unsigned,
    advice: 'This delivery has no signature: refuse it with 4xx.',
  },
  {
    name: 'changed-body',
    expected: '4xx',
    write: (delivery) => Buffer.from(withOtherEnd(Buffer.from(JSON.stringify(delivery)))).toString(),
    headersOf: signedBefore,
    advice:
      'The last byte of its body was changed. Verify the bytes before any parser reads them, and refuse with 4xx.',
  },
];

/** The deliveries of a drill, in the order of sending. The second delivery has the event id of the first. */
export function checksOf({ _id, integration }: Pick<Endpoint, '_id' | 'integration'>, now: Date): Check[] {
  const firstId = newId();
  return forms.map((form, index) => {
    const { name, expected, advice, event = testKind, ageMs = 0 } = form;
    const { write = JSON.stringify, headersOf = signedHeaders } = form;
    const timestamp = new Date(now.getTime() - ageMs).toISOString();
    const delivery = { event, timestamp, integrationId: integration, data: { webhookId: _id } };
    const eventId = index < 2 ? firstId : newId();
    const body = Buffer.from(write(delivery));
    const sending = { eventId, event, timestamp, body, headersOf: withDrillHeader(headersOf) };
    return { name, expected, advice, sending };
  });
}

const newId = (): string => `drill-${randomUUID()}`;

const withDrillHeader =
  (headersOf: HeadersOf): HeadersOf =>
  (attempt) => [...headersOf(attempt), 'x-webhook-drill', 'true'];
