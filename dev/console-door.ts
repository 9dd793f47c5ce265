// Passes a token to the console without an address that holds the token, because browsers keep visited addresses. The
// link holds the port of a local HTTP server ("door") and a code that this server accepts once.
//
//   GATEWAY/console#open=PORT.CODE        the page makes a pair of keys, and goes to the door with the public one
//   127.0.0.1:PORT/?code=CODE&key=KEY     the door seals a token for that key, and sends the browser back
//   GATEWAY/console#sealed=KEY.SEALED     the page opens it with its private key, and forgets both
import { timingSafeEqual, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { listenOnLoopback } from './process/port.ts';

export interface Door extends AsyncDisposable {
  readonly link: string;
  /** Resolves once a browser has fetched the token. */
  readonly passed: Promise<void>;
}

export interface DoorOptions {
  /** The address of the console. */
  page: string;
  /** Makes the token; called only when the link is opened, so that the token's lifetime begins then. */
  issue: () => string;
}

const host = '127.0.0.1';
const codeBytes = 16;
const used = 'This link has been used. `npm run console` prints another one.\n';

export async function openDoor({ page, issue }: DoorOptions): Promise<Door> {
  const code = randomBytes(codeBytes).toString('base64url');
  const { promise: passed, resolve: pass } = Promise.withResolvers<void>();
  let isOpen = true;
  const through = async (address: string): Promise<string | undefined> => {
    const { searchParams } = new URL(address, `http://${host}`);
    if (!isOpen || !isSame(searchParams.get('code') ?? '', code)) return undefined;
    isOpen = false;
    return `${page}#sealed=${await seal(issue(), searchParams.get('key') ?? '')}`;
  };
  const server = createServer((request, response) => {
    const headers = { 'cache-control': 'no-store', 'referrer-policy': 'no-referrer', connection: 'close' };
    through(request.url ?? '/').then(
      (location) => {
        if (location === undefined) {
          response.writeHead(410, { ...headers, 'content-type': 'text/plain' }).end(used);
          return;
        }
        response.writeHead(303, { ...headers, location }).end();
        response.once('close', pass);
      },
      () => response.writeHead(400, headers).end(),
    );
  });
  const port = await listenOnLoopback(server);
  return {
    link: `${page}#open=${port}.${code}`,
    passed,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function isSame(given: string, code: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(code)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const curve = { name: 'ECDH', namedCurve: 'P-256' } as const;

/** Encrypts the token: returns our public key and the ciphertext. Each key encrypts once, so the nonce may be constant. */
async function seal(token: string, key: string): Promise<string> {
  const { subtle } = crypto;
  const theirs = await subtle.importKey('raw', Buffer.from(key, 'base64url'), curve, false, []);
  const ours = await subtle.generateKey(curve, false, ['deriveKey']);
  const shared = await subtle.deriveKey(
    { name: 'ECDH', public: theirs },
    ours.privateKey,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt'],
  );
  const sealed = await subtle.encrypt({ name: 'AES-GCM', iv: Buffer.alloc(12) }, shared, Buffer.from(token));
  return [await subtle.exportKey('raw', ours.publicKey), sealed]
    .map((bytes) => Buffer.from(bytes).toString('base64url'))
    .join('.');
}
