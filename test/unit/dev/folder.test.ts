import { expect, it } from 'vitest';
import { gatewayUrl } from '../../../dev/stack/folder.ts';

it.each([
  [undefined, 'http://127.0.0.1:8080'],
  ['', 'http://127.0.0.1:8080'],
  ['127.0.0.1', 'http://127.0.0.1:8080'],
  ['0.0.0.0', 'http://127.0.0.1:8080'],
  ['::', 'http://127.0.0.1:8080'],
  ['::1', 'http://[::1]:8080'],
  ['10.1.2.3', 'http://10.1.2.3:8080'],
  ['localhost', 'http://localhost:8080'],
])('a gateway that listens on %s has the address %s', (host, url) => {
  expect(gatewayUrl({ GATEWAY_HOST: host }, 8080)).toBe(url);
});
