import { expect, it } from 'vitest';
import { TokenRefused, checkKind } from '../../../services/gateway/src/tokens/token-claims.ts';

type Claims = Record<string, unknown>;

it.each<[Claims, Claims]>([
  [{}, {}],
  [{ typ: 'JWT' }, {}],
  [{ typ: 'jwt' }, {}],
  [{ typ: 'at+jwt' }, {}],
  [{ typ: 'application/at+JWT' }, {}],
  [{}, { typ: 'Bearer' }],
  [{}, { token_use: 'access' }],
  [{}, { typ: 7, auth_time: 1, acr: '1', amr: ['pwd'] }],
])('a token with the header %j and the claims %j is an access token', (header, claims) => {
  expect(() => checkKind(header, claims)).not.toThrow();
});

it.each<[Claims, Claims]>([
  [{ typ: 'id+jwt' }, {}],
  [{ typ: 'logout+jwt' }, {}],
  [{ typ: 'dpop+jwt' }, {}],
  [{ typ: 'secevent+jwt' }, {}],
  [{ typ: 'x/at+jwt' }, {}],
  [{ typ: '' }, {}],
  [{ typ: null }, {}],
  [{ typ: ['JWT'] }, {}],
  [{ typ: 'JWT' }, { typ: 'ID' }],
  [{ typ: 'JWT' }, { typ: 'Refresh' }],
  [{ typ: 'JWT' }, { typ: 'Offline' }],
  [{ typ: 'JWT' }, { typ: 'Logout' }],
  [{}, { token_use: 'id' }],
  [{}, { nonce: 'n' }],
  [{}, { at_hash: 'h' }],
  [{}, { c_hash: 'h' }],
  [{}, { events: {} }],
])('a token with the header %j and the claims %j is no access token', (header, claims) => {
  expect(() => checkKind(header, claims)).toThrow(TokenRefused);
});
