// WEBHOOK_SECRET=whsec_… PORT=9000 node receiver.ts (Node 22.18 or newer)
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';

const secret = process.env['WEBHOOK_SECRET'] ?? '';
const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
// With an empty key anybody could sign.
if (key.length < 24) throw new Error('WEBHOOK_SECRET: expected whsec_… as the registration returned it');
const port = Number(process.env['PORT'] ?? 9000);

/** Over the bytes as they came: JSON that was parsed and written again has another signature. */
function isSignedWell(id: string, timestamp: string, signatures: string, body: Buffer): boolean {
  const ageSeconds = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(ageSeconds < 300)) return false;
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
  // There are two while a secret is being rotated; one that fits is enough.
  return signatures.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace('v1,', ''), 'base64');
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const headerOf = ({ headers }: IncomingMessage, name: string): string => String(headers[name] ?? '');

const seen = new Set<string>();

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    const id = headerOf(request, 'webhook-id');
    const timestamp = headerOf(request, 'webhook-timestamp');
    if (!isSignedWell(id, timestamp, headerOf(request, 'webhook-signature'), body)) {
      response.writeHead(400).end('the signature does not fit');
      return;
    }
    // Answer first, work afterwards: the answer is waited for 10 s at most.
    response.writeHead(204).end();
    // The same event may come twice, with the same id. Keep the ids where a restart does not lose them.
    if (seen.has(id)) return;
    seen.add(id);
    process.stdout.write(`${body.toString()}\n`);
  });
}).listen(port, '127.0.0.1', () => process.stdout.write(`listening on http://127.0.0.1:${port}/\n`));
