import { expect, it } from 'vitest';
import { metadataAddresses } from '../../../services/gateway/src/tokens/issuer-discovery.ts';

it.each([
  [
    'https://login.example.com',
    'https://login.example.com/.well-known/oauth-authorization-server',
    'https://login.example.com/.well-known/openid-configuration',
  ],
  [
    'https://login.example.com/',
    'https://login.example.com/.well-known/oauth-authorization-server',
    'https://login.example.com/.well-known/openid-configuration',
  ],
  [
    'https://login.example.com:8443/realms/one/',
    'https://login.example.com:8443/.well-known/oauth-authorization-server/realms/one',
    'https://login.example.com:8443/realms/one/.well-known/openid-configuration',
  ],
])('the metadata of issuer %s are at addresses of RFC 8414 and OIDC', (issuer, ...addresses) => {
  expect(metadataAddresses(issuer)).toEqual(addresses);
});
