// What a replica takes from an answer that is no success: for how long its receiver wants no attempt, and how its body
// begins. Nothing here sends.
import { limits } from '@integration-sync/contracts';

export interface FailedAnswer {
  /** No attempt before that time has passed; 0 where the receiver asks for none. */
  retryAfterMs: number;
  /** The first bytes of the body as text. */
  body: string;
}

/** A header value that an answer repeats may begin at the last byte that is kept. */
const bytesMax = limits.responseBodyBytesMax + limits.webhookHeaderBytesMax;

/** Collects the first bytes of a body. */
export interface BodyStart {
  add(chunk: Uint8Array): void;
  bytes(): Uint8Array;
}

export function openBodyStart(): BodyStart {
  const chunks: Buffer[] = [];
  let left = bytesMax;
  return {
    add(chunk) {
      if (left === 0) return;
      // The HTTP client uses its memory again.
      const some = Buffer.from(chunk.subarray(0, left));
      chunks.push(some);
      left -= some.length;
    },
    bytes: () => Buffer.concat(chunks),
  };
}

/** Shorter values are no secrets, and are in every text. */
const secretCharactersMin = 6;

/**
 * The first 1 KiB as text, without half a character at its end. Receivers may repeat what was sent to them: the values of
 * these headers, and the words in them, are masked.
 */
export function textOfBody(bytes: Uint8Array, headers: readonly string[] = []): string {
  const kept = Buffer.from(bytes.subarray(0, bytesMax));
  const values = headers.filter((_, place) => place % 2 === 1);
  const words = values.flatMap((value) => value.split(/[ \t]+/));
  for (const secret of values.concat(words)) {
    if (secret.length < secretCharactersMin) continue;
    for (let at = kept.indexOf(secret); at >= 0; at = kept.indexOf(secret, at)) {
      kept.fill('*', at, at + secret.length);
    }
  }
  const first = kept.subarray(0, limits.responseBodyBytesMax);
  return new TextDecoder().decode(first, { stream: true });
}

const seconds = /^\d{1,15}$/;
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** Of a 429 or 503: seconds, or a time; at most five minutes. */
export function retryAfterMsOf(status: number, header: unknown, nowMs: number): number {
  if ((status !== 429 && status !== 503) || typeof header !== 'string') return 0;
  const text = header.trim();
  const asked = seconds.test(text)
    ? Number(text) * 1_000
    : httpDate.test(text)
      ? Date.parse(text) - nowMs
      : 0;
  return Number.isNaN(asked) ? 0 : Math.min(Math.max(asked, 0), limits.retryAfterMsMax);
}
