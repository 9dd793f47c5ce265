// Text that a caller can carry, but neither make nor change, nor use for anything else than what it was made for.
import { createHmac, timingSafeEqual } from 'node:crypto';

const sealBytes = 16;

/** `purpose` holds no NUL. */
export function seal(key: Uint8Array | string, purpose: string, content: string): string {
  const bytes = Buffer.from(content);
  return Buffer.concat([sealOf(key, purpose, bytes), bytes]).toString('base64url');
}

/** Undefined for whatever was not sealed with this key for this purpose. */
export function unseal(key: Uint8Array | string, purpose: string, text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64url');
  // Decoding passes over what is not base64url, which would let two texts be one.
  if (bytes.length <= sealBytes || bytes.toString('base64url') !== text) return undefined;
  const content = bytes.subarray(sealBytes);
  const sealed = timingSafeEqual(bytes.subarray(0, sealBytes), sealOf(key, purpose, content));
  return sealed ? content.toString() : undefined;
}

/** The same for content that is JSON, and of one form under this key. */
export const openSealer = <Content>(key: Uint8Array | string) => ({
  seal: (purpose: string, content: Content): string => seal(key, purpose, JSON.stringify(content)),
  unseal(purpose: string, text: string): Content | undefined {
    const content = unseal(key, purpose, text);
    return content === undefined ? undefined : JSON.parse(content);
  },
});

const sealOf = (key: Uint8Array | string, purpose: string, content: Uint8Array): Buffer =>
  createHmac('sha256', key).update(`${purpose}\0`).update(content).digest().subarray(0, sealBytes);
