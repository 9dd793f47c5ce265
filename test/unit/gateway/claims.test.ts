import { describe, expect, it } from 'vitest';
import {
  TokenRefused,
  checkTimes,
  openCallerClaims,
  readCaller,
} from '../../../services/gateway/src/tokens/token-claims.ts';

const nowMs = Date.parse('2026-03-31T12:00:00Z');
const now = nowMs / 1_000;
const callerClaims = openCallerClaims({ AUTH_SCOPE_CLAIM: 'scope' });

describe('reading the integration and the scopes of a token', () => {
  it.each(['a', 'acme', 'A-b_9', '__proto__', 'constructor', 'x'.repeat(64)])(
    'accepts the integration %s',
    (id) => {
      expect(readCaller({ integration_id: id }, callerClaims).integration).toBe(id);
    },
  );

  it.each([undefined, null, '', ' ', 'a b', 'a.b', 'a*', '>', 'ä', 'a\n', 'x'.repeat(65), 7, ['acme'], {}])(
    'refuses the integration %j',
    (id) => {
      expect(() => readCaller({ integration_id: id }, callerClaims)).toThrow(TokenRefused);
    },
  );

  it.each([
    [
      'integration:suppliers:read integration:products:read',
      ['integration:suppliers:read', 'integration:products:read'],
    ],
    ['  integration:suppliers:read  ', ['integration:suppliers:read']],
    [['integration:suppliers:read'], ['integration:suppliers:read']],
    ['', []],
    [[], []],
    [undefined, []],
    // Each of these is one word, which is no scope.
    [
      'integration:suppliers:read,integration:products:read',
      ['integration:suppliers:read,integration:products:read'],
    ],
    [
      ['integration:suppliers:read integration:products:read'],
      ['integration:suppliers:read integration:products:read'],
    ],
    ['integration:suppliers:read\tx', ['integration:suppliers:read\tx']],
  ])('reads the scopes of %j', (scope, words) => {
    expect([...readCaller({ integration_id: 'acme', scope }, callerClaims).scopes]).toEqual(words);
  });

  it.each([null, 7, true, {}, ['integration:suppliers:read', 7]])('refuses the scope %j', (scope) => {
    expect(() => readCaller({ integration_id: 'acme', scope }, callerClaims)).toThrow(TokenRefused);
  });
});

describe('reading the times of a token', () => {
  it.each([
    { exp: now + 1 },
    { exp: now + 3_600, iat: now },
    { exp: now + 86_400, iat: now },
    { exp: now + 86_400 },
    { exp: now + 60, iat: now + 60 },
    { exp: now + 60, nbf: now + 60 },
    { exp: now + 1, iat: now - 86_399 },
    { exp: now + 0.5 },
  ])('accepts %j', (claims) => {
    expect(checkTimes(claims, nowMs)).toBe(claims.exp * 1_000);
  });

  it.each([
    [{}, 'exp is missing'],
    [{ exp: null }, 'exp is not a number'],
    [{ exp: String(now + 60) }, 'exp is not a number'],
    [{ exp: Infinity }, 'exp is not a number'],
    [{ exp: now }, 'the token has expired'],
    [{ exp: now - 1 }, 'the token has expired'],
    [{ exp: now + 60, iat: now + 61 }, 'the token is issued in the future'],
    [{ exp: now + 60, iat: '0' }, 'iat is not a number'],
    [{ exp: now + 60, nbf: now + 61 }, 'the token is not valid yet'],
    [{ exp: now + 60, nbf: true }, 'nbf is not a number'],
    [{ exp: now + 86_401, iat: now }, 'the token lives for more than 24 h'],
    [{ exp: now + 86_401 }, 'the token lives for more than 24 h'],
    // Issued long ago, and good for a year.
    [{ exp: now + 60, iat: now - 86_400 }, 'the token lives for more than 24 h'],
  ])('refuses %j: %s', (claims, reason) => {
    expect(() => checkTimes(claims, nowMs)).toThrow(new TokenRefused(reason));
  });
});
