// Addresses that settings hold: what they may look like, and what is told apart in them. Pure.

/** What the NATS client is told. It reads neither credentials nor `tls://` from an address by itself. */
export interface NatsServers {
  /** `host:port`, without credentials. */
  servers: string[];
  user?: string;
  pass?: string;
  token?: string;
  tls?: Record<string, never>;
}

/** Undefined where one of them is no address, or where they differ in who is to be let in. */
export function parseNatsServers(text: string): NatsServers | undefined {
  const addresses = text.split(',').map(parseNatsServer);
  const servers: string[] = [];
  const credentials = new Map<string, Credentials>();
  let encrypted = false;
  for (const address of addresses) {
    if (address === undefined) return undefined;
    servers.push(address.server);
    encrypted ||= address.encrypted;
    if (address.credentials !== undefined) {
      credentials.set(JSON.stringify(address.credentials), address.credentials);
    }
  }
  // The client has one name for all servers of a cluster.
  if (credentials.size > 1) return undefined;
  const [known] = credentials.values();
  return { servers, ...known, ...(encrypted ? { tls: {} } : {}) };
}

type Credentials = { user: string; pass: string } | { token: string };

interface NatsServer {
  server: string;
  credentials: Credentials | undefined;
  encrypted: boolean;
}

function parseNatsServer(text: string): NatsServer | undefined {
  const [, scheme, rest = ''] = /^(nats|tls):\/\/(\S+)$/.exec(text) ?? [];
  const url = URL.parse(`http://${rest}`);
  if (scheme === undefined || url === null || url.pathname !== '/') return undefined;
  // The client would leave out a password of no user.
  if (url.username === '' && url.password !== '') return undefined;
  try {
    return {
      server: rest.slice(rest.lastIndexOf('@') + 1).replace(/\/$/, ''),
      credentials: credentialsOf(url),
      encrypted: scheme === 'tls',
    };
  } catch {
    // A percent sign that begins no character.
    return undefined;
  }
}

/** A name alone is a token. */
function credentialsOf({ username, password }: URL): Credentials | undefined {
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  if (pass !== '') return { user, pass };
  return user === '' ? undefined : { token: user };
}

/** Every reader of the address would see the credentials, and `fetch` refuses them. */
export function isHttpAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) return false;
  return url.username === '' && url.password === '';
}
