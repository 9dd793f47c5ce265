// The browser's side of a link to the console (dev/console-door.ts): decrypts the token by ECDH on P-256 and AES-GCM.
const curve = { name: 'ECDH', namedCurve: 'P-256' } as const;

export interface Passage {
  status: number;
  /** The Location header of the answer, in which the token is still encrypted. */
  location: string | undefined;
  token: string | undefined;
}

export async function passDoor(link: string, change: { code?: string; key?: string } = {}): Promise<Passage> {
  const { port, code } = /#open=(?<port>\d+)\.(?<code>[\w-]+)$/.exec(link)?.groups ?? {};
  const { subtle } = crypto;
  const own = await subtle.generateKey(curve, false, ['deriveKey']);
  const key = Buffer.from(await subtle.exportKey('raw', own.publicKey)).toString('base64url');
  const query = new URLSearchParams({ code: code ?? '', key, ...change });
  const answer = await fetch(`http://127.0.0.1:${port}/?${query.toString()}`, { redirect: 'manual' });
  await answer.body?.cancel();
  const location = answer.headers.get('location') ?? undefined;
  const [, theirs, sealed] = /#sealed=([\w-]+)\.([\w-]+)$/.exec(location ?? '') ?? [];
  if (theirs === undefined || sealed === undefined)
    return { status: answer.status, location, token: undefined };
  const shared = await subtle.deriveKey(
    {
      name: 'ECDH',
      public: await subtle.importKey('raw', Buffer.from(theirs, 'base64url'), curve, false, []),
    },
    own.privateKey,
    { name: 'AES-GCM', length: 256 },
    false,
    ['decrypt'],
  );
  const opened = await subtle.decrypt(
    { name: 'AES-GCM', iv: new Uint8Array(12) },
    shared,
    Buffer.from(sealed, 'base64url'),
  );
  return { status: answer.status, location, token: Buffer.from(opened).toString() };
}
