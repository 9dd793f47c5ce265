// Access tokens as identity providers write them for a client of the ERP, and the settings by which the gateway takes
// them. The claims are those of the providers' own documents; the issuer's name is that of a test.
import { everyScope, nowSeconds } from './access-tokens.ts';

type Claims = Record<string, unknown>;

export interface Provider {
  /** The path of the issuer's name. */
  path: string;
  settings: Record<string, string>;
  header: Claims;
  /** The claims of a token for the integration acme, without `iss` and the times. */
  claims: Claims;
  /** The name of the claim from which the gateway takes the integration. */
  integration: string;
  /** The claims that carry these scopes. */
  scoped: (scopes: readonly string[]) => Claims;
  /** The claims of an ID token for the same client. */
  idToken: Claims;
}

const scopes = everyScope.split(' ');
const tenant = '8a2f1a1e-0f6b-4d2a-9d43-4b1f7f6f2c11';
const api = '3c5b7c2e-6a53-4c36-8f0f-0d6e6c1f9a20';
const client = '5f9d0e1c-2b7d-4a8e-8a44-9a1b2c3d4e5f';

const entra = {
  header: { typ: 'JWT', x5t: 'one' },
  scoped: (roles: readonly string[]): Claims => ({ roles }),
};

export const providers: Record<string, Provider> = {
  Keycloak: {
    path: '/realms/company',
    settings: {
      AUTH_AUDIENCE: 'sync',
      AUTH_INTEGRATIONS: 'erp-job=acme,shop-job=shop',
      AUTH_SCOPE_CLAIM: '/resource_access/sync/roles',
    },
    header: { typ: 'JWT' },
    claims: {
      jti: 'trrtcc:8a3a',
      aud: ['sync', 'account'],
      sub: '6d5f2f0c-7b0e-4c1f-8f3a-2a4f6f0c1d2e',
      typ: 'Bearer',
      azp: 'erp-job',
      acr: '1',
      realm_access: { roles: ['offline_access', 'uma_authorization'] },
      resource_access: { account: { roles: ['view-profile'] }, sync: { roles: scopes } },
      scope: 'profile email',
      email_verified: false,
      clientHost: '127.0.0.1',
      preferred_username: 'service-account-erp-job',
      clientAddress: '127.0.0.1',
      client_id: 'erp-job',
    },
    integration: 'azp',
    scoped: (roles) => ({ resource_access: { sync: { roles } }, scope: everyScope }),
    idToken: { aud: 'erp-job', sub: 'a-user', typ: 'ID', azp: 'erp-job', at_hash: 'x', sid: 's', acr: '1' },
  },
  Auth0: {
    path: '/',
    settings: {
      AUTH_AUDIENCE: 'https://sync.example.com/api',
      AUTH_INTEGRATION_CLAIM: 'https://sync.example.com/integration',
    },
    header: { typ: 'JWT' },
    claims: {
      'https://sync.example.com/integration': 'acme',
      sub: 'Qk3vX9yT2rB7@clients',
      aud: 'https://sync.example.com/api',
      scope: everyScope,
      gty: 'client-credentials',
      azp: 'Qk3vX9yT2rB7',
    },
    integration: 'https://sync.example.com/integration',
    scoped: (words) => ({ scope: words.join(' ') }),
    idToken: {
      'https://sync.example.com/integration': 'acme',
      aud: 'Qk3vX9yT2rB7',
      sub: 'auth0|a-user',
      nickname: 'a-user',
      sid: 's',
      scope: everyScope,
    },
  },
  Okta: {
    path: '/oauth2/default',
    settings: {
      AUTH_AUDIENCE: 'api://sync',
      AUTH_INTEGRATIONS: '0oa1gjh63g214q0Hq0g4=acme',
      AUTH_SCOPE_CLAIM: 'scp',
    },
    header: { typ: undefined },
    claims: {
      ver: 1,
      jti: 'AT.0mP4JKAZX1iACIT4vbEDF7LpvDVjxypPMf0D7uX39RE',
      aud: 'api://sync',
      cid: '0oa1gjh63g214q0Hq0g4',
      scp: scopes,
      sub: '0oa1gjh63g214q0Hq0g4',
    },
    integration: 'cid',
    scoped: (scp) => ({ scp, scope: everyScope }),
    idToken: {
      ver: 1,
      aud: '0oa1gjh63g214q0Hq0g4',
      sub: '00uid4BxXw6I6TV4m0g3',
      amr: ['pwd'],
      auth_time: 1,
      at_hash: 'x',
      scp: scopes,
    },
  },
  'Entra v2': {
    ...entra,
    path: `/${tenant}/v2.0`,
    settings: { AUTH_AUDIENCE: api, AUTH_INTEGRATIONS: `${client}=acme`, AUTH_SCOPE_CLAIM: 'roles' },
    claims: {
      aud: api,
      aio: 'E2ZgYFgs',
      azp: client,
      azpacr: '1',
      oid: 'b1f0c6d2-6c3f-4d0a-9d1e-0f2a3b4c5d6e',
      rh: '0.AX0A',
      roles: scopes,
      sub: 'b1f0c6d2-6c3f-4d0a-9d1e-0f2a3b4c5d6e',
      tid: tenant,
      uti: 'x',
      ver: '2.0',
    },
    integration: 'azp',
    // The ID token of a user who signs in to the API's own application.
    idToken: { aud: api, sub: 'a-user', name: 'A User', tid: tenant, roles: scopes, ver: '2.0' },
  },
  'Entra v1': {
    ...entra,
    path: `/${tenant}/`,
    settings: {
      AUTH_AUDIENCE: `api://${api}`,
      AUTH_INTEGRATIONS: `${client}=acme`,
      AUTH_SCOPE_CLAIM: 'roles',
    },
    claims: {
      aud: `api://${api}`,
      aio: 'E2ZgYFgs',
      appid: client,
      appidacr: '1',
      idp: `https://sts.windows.net/${tenant}/`,
      oid: 'b1f0c6d2-6c3f-4d0a-9d1e-0f2a3b4c5d6e',
      roles: scopes,
      sub: 'b1f0c6d2-6c3f-4d0a-9d1e-0f2a3b4c5d6e',
      tid: tenant,
      ver: '1.0',
    },
    integration: 'appid',
    idToken: { aud: client, sub: 'a-user', unique_name: 'a@example.com', tid: tenant, roles: scopes },
  },
};

/** All claims of a token, without those that are given as undefined. */
export function claimsOf(issuer: string, claims: Claims, changed: Claims = {}): Claims {
  const iat = nowSeconds();
  return { iss: issuer, iat, nbf: iat, exp: iat + 3_600, ...claims, ...changed };
}
