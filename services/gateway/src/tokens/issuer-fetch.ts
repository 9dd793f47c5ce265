// Reading what an issuer publishes: no more than a bounded part of its answer, so that no issuer can fill the memory of
// this process.
import type { FetchImplementation } from 'jose';

/** Some hundred keys with their certificates. */
const answerBytesMax = 1024 * 1024;

export const fetchBounded: FetchImplementation = async (url, options) => {
  const response = await fetch(url, options);
  if (response.body === null || response.status !== 200) {
    await response.body?.cancel();
    return response;
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // The error leaves the loop, which ends the connection.
  for await (const chunk of response.body) {
    bytes += chunk.length;
    if (bytes > answerBytesMax) throw new Error(`the issuer's answer is larger than ${answerBytesMax} bytes`);
    chunks.push(chunk);
  }
  return new Response(Buffer.concat(chunks));
};
