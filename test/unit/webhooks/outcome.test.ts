import { describe, expect, it } from 'vitest';
import {
  outcomeOfAnswer,
  outcomeOfSilence,
  TimedOut,
  timedOut,
} from '../../../services/webhooks/src/sending/attempt-outcome.ts';

const withCode = (code: string): Error => Object.assign(new Error('driver words'), { code });

describe('an answer of a receiver', () => {
  it.each([200, 201, 202, 204, 299])('of %i is a success', (status) => {
    expect(outcomeOfAnswer(status)).toEqual({ verdict: 'succeeded', responseStatus: status, error: null });
  });
  it.each([300, 301, 302, 304, 307, 308])('of %i is a redirect that is not followed', (status) => {
    expect(outcomeOfAnswer(status)).toMatchObject({
      verdict: 'failed',
      error: expect.stringContaining('redirect'),
    });
  });
  it.each([400, 401, 404, 409, 429, 500, 503, 599])('of %i is a failure', (status) => {
    expect(outcomeOfAnswer(status)).toMatchObject({ verdict: 'failed', responseStatus: status });
  });
  it('of 410 disables the endpoint', () => {
    expect(outcomeOfAnswer(410).verdict).toBe('gone');
  });
  it('that breaks off is a failure, though it began with 200', () => {
    expect(outcomeOfAnswer(200, withCode('UND_ERR_SOCKET'))).toEqual({
      verdict: 'failed',
      responseStatus: 200,
      error: 'the connection was closed before the answer was complete',
    });
  });
});

describe('a missing answer', () => {
  it.each([
    [new TimedOut(timedOut), 'timeout: no complete answer within 10 s'],
    [withCode('ECONNREFUSED'), 'connection refused'],
    [withCode('ERR_ASSERTION'), 'the answer is not HTTP'],
    [withCode('ECONNRESET'), 'the connection was closed before the answer was complete'],
    [withCode('CERT_HAS_EXPIRED'), 'TLS: the certificate is not valid (CERT_HAS_EXPIRED)'],
    [
      withCode('DEPTH_ZERO_SELF_SIGNED_CERT'),
      'TLS: the certificate is not valid (DEPTH_ZERO_SELF_SIGNED_CERT)',
    ],
    [
      withCode('ERR_TLS_CERT_ALTNAME_INVALID'),
      'TLS: the certificate is not valid (ERR_TLS_CERT_ALTNAME_INVALID)',
    ],
    [withCode('ERR_SSL_WRONG_VERSION_NUMBER'), 'TLS: no secure connection (ERR_SSL_WRONG_VERSION_NUMBER)'],
    [Object.assign(new Error('driver words'), { name: 'HTTPParserError' }), 'the answer is not HTTP'],
    [withCode('ESOMETHING'), 'the connection failed (ESOMETHING)'],
    [new Error('driver words'), 'the connection failed'],
    ['thrown text', 'the connection failed'],
  ])('because of %s has that reason', (error, words) => {
    expect(outcomeOfSilence(error)).toEqual({ verdict: 'failed', responseStatus: null, error: words });
  });
});
