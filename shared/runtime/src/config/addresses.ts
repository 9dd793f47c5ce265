// Checks and parses the addresses that settings hold. Pure.

/** Options of the NATS client, which reads neither credentials nor `tls://` from an address. */
export interface NatsServers {
  /** `host:port`, without credentials. */
  servers: string[];
  user?: string;
  pass?: string;
  token?: string;
  tls?: Record<string, never>;
}

/** Undefined if one of the addresses is wrong, or if two addresses have different credentials. */
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
  // The NATS client uses one login for all servers of a cluster.
  if (credentials.size > 1) return undefined;
  const [known] = credentials.values();
  return { servers, ...known, ...(encrypted ? { tls: {} } : {}) };
}

type Credentials = { user: string; pass: string } | { token: string };

function parseNatsServer(text: string) {
  const [, scheme, rest = ''] = /^(nats|tls):\/\/(\S+)$/.exec(text) ?? [];
  const url = URL.parse(`http://${rest}`);
  if (scheme === undefined || url === null || url.pathname !== '/') return undefined;
  // The NATS client would ignore a password without a user.
  if (url.username === '' && url.password !== '') return undefined;
  try {
    return {
      server: rest.slice(rest.lastIndexOf('@') + 1).replace(/\/$/, ''),
      credentials: credentialsOf(url),
      encrypted: scheme === 'tls',
    };
  } catch {
    // `decodeURIComponent` throws for a percent sign that begins no character.
    return undefined;
  }
}

/** In an address such as `nats://abc@host`, a user without a password is a token. */
function credentialsOf({ username, password }: URL): Credentials | undefined {
  const [user, pass] = [decodeURIComponent(username), decodeURIComponent(password)];
  if (pass !== '') return { user, pass };
  return user === '' ? undefined : { token: user };
}

/** Refuses credentials in the address: every reader of the setting would see them, and `fetch` refuses them too. */
export function isHttpAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text)) return false;
  return url.username === '' && url.password === '';
}
