// Where a token says something: a claim's name, taken literally, or from a leading `/` a JSON pointer (RFC 6901) into the
// claims. Pure.
//
//   integration_id                 the claim integration_id
//   https://example.com/tenant     the claim of exactly this name
//   /resource_access/sync/roles    the roles of sync in the claim resource_access
type Claims = Readonly<Record<string, unknown>>;

/** What the claims say at a name; undefined where they say nothing. */
export type ReadClaim = (claims: Claims) => unknown;

/** A `~` begins `~0` (a tilde) or `~1` (a slash) and nothing else. */
const pointerPattern = /^(\/([^/~]|~[01])*)+$/;

export const isClaimName = (name: string): boolean => !name.startsWith('/') || pointerPattern.test(name);

export function claimReader(name: string): ReadClaim {
  if (!name.startsWith('/')) return (claims) => ownOf(claims, name);
  const steps = name.slice(1).split('/').map(unescape);
  return (claims) => steps.reduce<unknown>(ownOf, claims);
}

const unescape = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~');

/** What a token does not say itself, an object's prototype must not say for it. */
export function ownOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  // The length of an array is a property of its own, and no entry.
  if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined;
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}
