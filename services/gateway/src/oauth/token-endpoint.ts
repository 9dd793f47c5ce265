// The token endpoint exchanges a client's id and secret for an access token. Libraries find the endpoint by its metadata. Only a
// gateway with AUTH_CLIENTS_FILE and AUTH_JWT_SECRET has a token endpoint.
//
//   headers, form   token-request.ts                  400 invalid_request, 400 unsupported_grant_type
//   the secret      the file of clients               401 invalid_client; 429 after a second, from the 31st wrong secret of a minute on
//   scope           below                             400 invalid_scope
import { setTimeout as wait } from 'node:timers/promises';
import { allScopes, codes } from '@integration-sync/contracts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clients } from '../clients/clients.ts';
import type { Credential } from '../clients/credential-index.ts';
import type { GatewayConfig } from '../config.ts';
import { rawQuery } from '../server/request-checks.ts';
import { openFailures } from './wrong-secrets.ts';
import { isForm, readFormBody, readTokenRequest, type TokenRequest } from './token-request.ts';
import { addressOf, metadataOf, metadataPath, openIssuing, tokenPath } from './issuer.ts';
import { invalidClient, invalidRequest, OAuthRefusal } from './refusal.ts';

/** Delays a refusal at the limit, so that a caller gets at most one such refusal a second on each connection. */
const limitedForMs = 1_000;

export function addTokenEndpoint(
  app: FastifyInstance,
  clients: Clients,
  signingSecret: string,
  config: GatewayConfig,
  now: () => number,
): void {
  const issue = openIssuing(signingSecret, now);
  const countFailure = openFailures(now);

  /** Checks the secret before it counts failures, so that a caller with the right secret never waits. */
  const authenticate = async ({ clientId, secret }: TokenRequest): Promise<Credential> => {
    const credential = clients.authenticate(clientId, secret);
    if (credential !== undefined) return credential;
    const seconds = countFailure(clients.find(clientId));
    if (seconds !== undefined) {
      await wait(limitedForMs);
      throw new OAuthRefusal(
        'invalid_client',
        `Too many wrong secrets for this client; try again in ${seconds} s.`,
        'rate_limited',
        { 'retry-after': String(seconds) },
      );
    }
    throw invalidClient('The client id or its secret is wrong, or the secret has ended.');
  };

  app.post(tokenPath, { errorHandler: answerRefusal, onRequest: dropOtherType }, async (request, reply) => {
    reply.header('pragma', 'no-cache');
    const authorization = readAuthorization(request);
    const asked = readTokenRequest(await readFormBody(request, reply), authorization);
    const credential = await authenticate(asked);
    request.exchange.caller = credential.caller;
    const scope = scopeOf(asked, credential);
    const issuer = addressOf(request, config);
    // RFC 9068 requires `iss` and `aud`. The gateway checks each only if AUTH_ISSUER or AUTH_AUDIENCE is set.
    const home = { iss: config.AUTH_ISSUER ?? issuer, aud: config.AUTH_AUDIENCE ?? issuer };
    const { token, expiresInSeconds } = await issue(credential, { scope, ...home });
    return { access_token: token, token_type: 'Bearer', expires_in: expiresInSeconds, scope };
  });
  app.get(metadataPath, { errorHandler: answerRefusal }, async (request, reply) =>
    reply.send(metadataOf(addressOf(request, config))),
  );
}

/** Fastify fails for a malformed content type, before the form is read. `readFormBody` refuses a form without a type. */
async function dropOtherType({ raw }: FastifyRequest): Promise<void> {
  if (!isForm(raw)) delete raw.headers['content-type'];
}

/** Refuses a query, where secrets do not belong, and a second Authorization header: a proxy may have read either header. */
function readAuthorization(request: FastifyRequest): string | undefined {
  if (rawQuery(request) !== '') {
    throw invalidRequest(
      'The token endpoint takes no query: parameters, and secrets above all, belong in the form.',
    );
  }
  const [authorization, ...others] = request.raw.headersDistinct['authorization'] ?? [];
  if (others.length > 0) throw invalidRequest('A request has one Authorization header.');
  return authorization;
}

function scopeOf({ scope }: TokenRequest, { client, scope: all }: Credential): string {
  if (scope === undefined) return all;
  const asked = new Set(scope);
  const granted = client.scopes.filter((one) => asked.has(one));
  if (granted.length === asked.size && granted.length > 0) return granted.join(' ');
  const isKnown = scope.every((word) => allScopes.some((one) => one === word));
  throw new OAuthRefusal(
    'invalid_scope',
    isKnown ? 'The client does not have all of these scopes.' : 'There is no such scope.',
  );
}

/** Answers an `OAuthRefusal`; any other error goes to the error handler of all routes. */
function answerRefusal(error: Error, { exchange }: FastifyRequest, reply: FastifyReply): void {
  if (!(error instanceof OAuthRefusal)) throw error;
  const { error: name, message, code, headers } = error;
  exchange.code = code;
  exchange.refusal = message;
  reply.code(codes[code].status).headers(headers).send({ error: name, error_description: message });
}
