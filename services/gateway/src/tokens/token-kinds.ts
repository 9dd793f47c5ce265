// Whether a signed token is an access token. An issuer signs other tokens with the same keys, and such a token may name
// the same audience. Pure.
//
//   typ of the header       absent, JWT or at+jwt (RFC 9068)
//   typ, token_use          absent, or not the name of another kind (Keycloak; Cognito)
//   nonce, at_hash, c_hash  absent: they make an ID token (OpenID Connect Core)
//   events                  absent: it makes a logout or another security event (RFC 8417)
import { ownOf } from './claim-names.ts';
import { TokenRefused } from './claims.ts';

type Claims = Readonly<Record<string, unknown>>;

const accessTypes: ReadonlySet<string> = new Set(['jwt', 'at+jwt']);
const otherKinds: ReadonlySet<string> = new Set(['id', 'refresh', 'offline', 'logout']);
const kindClaims = ['typ', 'token_use'] as const;
const otherClaims = ['nonce', 'at_hash', 'c_hash', 'events'] as const;

export function checkKind(header: Claims, claims: Claims): void {
  const { typ } = header;
  if (typ !== undefined && !(typeof typ === 'string' && accessTypes.has(mediaTypeOf(typ)))) {
    throw new TokenRefused('its typ is not that of an access token');
  }
  for (const name of kindClaims) {
    const kind = ownOf(claims, name);
    if (typeof kind === 'string' && otherKinds.has(kind.toLowerCase())) {
      throw new TokenRefused(`no access token: its ${name} is that of another kind`);
    }
  }
  const other = otherClaims.find((name) => ownOf(claims, name) !== undefined);
  if (other !== undefined) throw new TokenRefused(`no access token: it has the claim ${other}`);
}

/** RFC 7515 §4.1.9: `application/` may be left out, and letters of either case mean the same. */
const mediaTypeOf = (typ: string): string => typ.toLowerCase().replace(/^application\//, '');
