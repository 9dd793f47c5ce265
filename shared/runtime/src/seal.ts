// Seals text with an HMAC for one purpose: a caller can return the text, but not make, change or use it for another purpose.
import { createHmac, timingSafeEqual } from 'node:crypto';

const sealBytes = 16;

/** `purpose` holds no NUL. */
export function seal(key: Uint8Array | string, purpose: string, content: string): string {
  const bytes = Buffer.from(content);
  return Buffer.concat([sealOf(key, purpose, bytes), bytes]).toString('base64url');
}

/** The content; undefined for a text that was not sealed with this key for this purpose. */
export function unseal(key: Uint8Array | string, purpose: string, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Node's decoder skips characters that are not base64url, so that different texts could decode to the same bytes.
  if (bytes.length <= sealBytes || bytes.toString('base64url') !== text) return undefined;
  const content = bytes.subarray(sealBytes);
  const sealed = timingSafeEqual(bytes.subarray(0, sealBytes), sealOf(key, purpose, content));
  return sealed ? content.toString() : undefined;
}

/** Seals and unseals JSON content; all content under the key has one type. */
export const openSealer = <Content>(key: Uint8Array | string) => ({
  seal: (purpose: string, content: Content): string => seal(key, purpose, JSON.stringify(content)),
  unseal(purpose: string, text: string): Content | undefined {
    const content = unseal(key, purpose, text);
    return content === undefined ? undefined : JSON.parse(content);
  },
});

const sealOf = (key: Uint8Array | string, purpose: string, content: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${purpose}\0`).update(content).digest().subarray(0, sealBytes);
