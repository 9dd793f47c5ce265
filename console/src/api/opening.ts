// Follows a link that `npm start` or `npm run console` prints. A link holds no token, because browsers keep addresses
// in their history. It holds a code that is good once, for a small HTTP server of that command (dev/console-door.ts):
//
// A page that another machine serves ignores a link: the link's maker could have the page call any local server.
//
//   console#open=PORT.CODE              the page makes a pair of keys, and sends the browser with the public key to
//   127.0.0.1:PORT/?code=CODE&key=KEY   the server, which encrypts a token for this key and redirects the browser to
//   console#sealed=KEY.SEALED           the page, which alone has the private key and decrypts the token
import { isOfThisMachine } from '../here.ts';
import { refuseLink, signInByLink } from './session.ts';

const place = 'opening';
const curve = { name: 'ECDH', namedCurve: 'P-256' } as const;
const toDoor = /^#open=(?<port>\d{1,5})\.(?<code>[\w-]+)$/;
const fromDoor = /^#sealed=(?<key>[\w-]+)\.(?<sealed>[\w-]+)$/;

/** Resolves with true if the browser leaves this page for the server of the link. */
export async function followLink(): Promise<boolean> {
  const { hash, pathname, search } = location;
  const { port, code } = toDoor.exec(hash)?.groups ?? {};
  const { key, sealed } = fromDoor.exec(hash)?.groups ?? {};
  const isToDoor = port !== undefined && code !== undefined;
  const isFromDoor = key !== undefined && sealed !== undefined;
  if (!isToDoor && !isFromDoor) return false;
  history.replaceState(undefined, '', `${pathname}${search}#/`);
  if (!isOfThisMachine(location.hostname)) {
    refuseLink('This link opens only a console of the same machine.');
    return false;
  }
  try {
    if (isToDoor) {
      const own = await makeKey();
      location.replace(`http://127.0.0.1:${port}/?${new URLSearchParams({ code, key: own }).toString()}`);
      return true;
    }
    if (isFromDoor) signInByLink(await open(key, sealed));
  } catch {
    refuseLink('This link does not open here.');
  }
  return false;
}

async function makeKey(): Promise<string> {
  const { publicKey, privateKey } = await crypto.subtle.generateKey(curve, true, ['deriveKey']);
  sessionStorage.setItem(place, JSON.stringify(await crypto.subtle.exportKey('jwk', privateKey)));
  return textOf(await crypto.subtle.exportKey('raw', publicKey));
}

async function open(key: string, sealed: string): Promise<string> {
  const kept: JsonWebKey = JSON.parse(sessionStorage.getItem(place) ?? '');
  sessionStorage.removeItem(place);
  const { subtle } = crypto;
  const own = await subtle.importKey('jwk', kept, curve, false, ['deriveKey']);
  const theirs = await subtle.importKey('raw', bytesOf(key), curve, false, []);
  const shared = await subtle.deriveKey(
    { name: 'ECDH', public: theirs },
    own,
    { name: 'AES-GCM', length: 256 },
    false,
    ['decrypt'],
  );
  // Each pair of keys encrypts one message, so a nonce of zeros is safe.
  const opened = await subtle.decrypt({ name: 'AES-GCM', iv: new Uint8Array(12) }, shared, bytesOf(sealed));
  return new TextDecoder().decode(opened);
}

const textOf = (bytes: ArrayBuffer): string =>
  btoa(String.fromCharCode(...new Uint8Array(bytes)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/(?<!=)=+$/, '');

const bytesOf = (text: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
