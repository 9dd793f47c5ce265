// Registers an endpoint. Each registration of the same url is an endpoint of its own, with its own secret. Under an
// `Idempotency-Key` a body is registered once, and a repeated request gets the first answer.
import { randomBytes } from 'node:crypto';
import {
  basePath,
  Failure,
  type FailureEntry,
  limits,
  RegisterWebhook,
  requestHeaders,
} from '@integration-sync/contracts';
import { refuseGivenUp, type BusHandler, type BusRequest } from '@integration-sync/runtime/bus';
import { isFirst } from '@integration-sync/runtime/store';
import { type Endpoint, newEndpoint } from '../endpoints/endpoint.ts';
import { type Registration, registrationOf, type Registrations } from '../endpoints/idempotency-keys.ts';
import type { Endpoints, Revisions } from '../endpoints/endpoint-store.ts';
import type { TakeCutoff } from '../matching/cutoff.ts';
import { makeSecret } from '../secrets/signing-secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { EgressGuard } from '../sending/egress-guard.ts';
import { accept, bodyExaminer } from './request-body.ts';
import { json } from './handlers.ts';
import { settingsOf, wrongIn } from './webhook-settings.ts';
import { registeredWebhookOf } from './webhook-details.ts';

export interface RegisterOptions {
  endpoints: Pick<Endpoints, 'count' | 'insert' | 'findOf' | 'remove'>;
  registrations: Pick<Registrations, 'begin' | 'finish' | 'drop'>;
  revisions: Pick<Revisions, 'changed'>;
  vault: Vault;
  guard: EgressGuard;
  takeCutoff: TakeCutoff;
  endpointsMax: number;
}

export function registering(options: RegisterOptions): BusHandler {
  const { registrations, revisions, guard } = options;
  const examine = bodyExaminer(RegisterWebhook);
  return async (request) => {
    const { integration } = request;
    const examined = examine(request);
    const { key, wrongKey } = readKey(request);
    const body = accept(examined, [...wrongKey, ...(await wrongIn(guard, examined))]);
    const id = `wh_${randomBytes(16).toString('hex')}`;
    if (key === undefined) {
      const registered = await register(options, request, { id, body });
      await revisions.changed(integration);
      return answerOf(registered);
    }
    const begun = registrationOf({ integration, key, body }, id);
    const found = await registrations.begin(begun);
    if (found.fingerprint !== begun.fingerprint)
      throw new Failure('conflict', 'This Idempotency-Key was used with another body in the last 24 hours.');
    const before = found === begun ? undefined : await registeredAs(options, found);
    const registered =
      before ??
      (await register(options, request, { id: found.endpointId, body, registration: found._id }).catch(
        async (error: unknown) => {
          // Only a `conflict` proves that no webhook was stored. After other errors a repeated request completes the registration.
          if (error instanceof Failure && error.code === 'conflict') await registrations.drop(found._id);
          throw error;
        },
      ));
    // The webhook may have been stored before, by a replica that died before it replaced the revision.
    await revisions.changed(integration);
    await registrations.finish(found._id, found.endpointId);
    return answerOf({ ...registered, url: body.url, events: [...new Set(body.events)], active: true });
  };
}

interface Registered extends Endpoint {
  /** The signing secret in plain text. */
  signingSecret: string;
}

const answerOf = ({ signingSecret, ...endpoint }: Registered) => ({
  ...json(registeredWebhookOf(endpoint, signingSecret)),
  headers: { location: `${basePath}/webhook-events/${endpoint._id}` },
});

/** If a concurrent request with the same `Idempotency-Key` was faster, resolves with the webhook of that request. */
async function register(
  { endpoints, vault, takeCutoff, endpointsMax }: RegisterOptions,
  request: BusRequest,
  { id, body, ...registered }: { id: string; body: RegisterWebhook; registration?: string },
): Promise<Registered> {
  const { integration } = request;
  const signingSecret = makeSecret();
  const isFull = (await endpoints.count(integration)) >= endpointsMax;
  // A concurrent request with the same `Idempotency-Key` may have stored this webhook as the last one.
  if (isFull && (await endpoints.findOf(integration, id)) === null) throw tooMany(endpointsMax);
  const { through, underWay } = await takeCutoff(request);
  const endpoint = newEndpoint({
    id,
    integration,
    url: body.url,
    events: body.events,
    ...settingsOf(body, vault, id).set,
    secret: vault.seal(signingSecret, id),
    eventsAfter: through,
    eventsUnderWay: underWay,
    ...registered,
  });
  await refuseGivenUp(request);
  if (!(await isFirst(endpoints.insert(endpoint)))) {
    const first = await endpoints.findOf(integration, id);
    if (first === null) throw goneSince();
    return { ...first, signingSecret: vault.open(first.secret, id) };
  }
  // Webhooks are counted after the insert too: concurrent registrations may all be refused, but no webhook above the limit stays.
  if ((await endpoints.count(integration)) > endpointsMax) {
    await endpoints.remove(integration, id);
    throw tooMany(endpointsMax);
  }
  return { ...endpoint, signingSecret };
}

/** The stored webhook of a registration. Undefined if a replica is still storing the webhook, or died before it was stored. */
async function registeredAs(
  { endpoints, vault }: RegisterOptions,
  { integration, endpointId, isDone }: Registration,
): Promise<Registered | undefined> {
  const endpoint = await endpoints.findOf(integration, endpointId);
  if (endpoint === null && !isDone) return undefined;
  if (endpoint === null || endpoint.isRotated === true) throw goneSince();
  return { ...endpoint, signingSecret: vault.open(endpoint.secret, endpointId) };
}

const form = /^[ -~]+$/;

/** Reads the `Idempotency-Key`, which the gateway passes on percent-encoded. */
function readKey({ headers }: BusRequest): { key: string | undefined; wrongKey: FailureEntry[] } {
  const given = headers.get(requestHeaders.idempotencyKey);
  const key = given === undefined ? undefined : decodeURIComponent(given);
  const max = limits.idempotencyKeyCharactersMax;
  if (key === undefined || (form.test(key) && key.length <= max)) return { key, wrongKey: [] };
  const detail = `Idempotency-Key: expected 1 to ${max} printable ASCII characters`;
  return { key, wrongKey: [{ pointer: 'Idempotency-Key', detail }] };
}

const tooMany = (max: number): Failure =>
  new Failure('conflict', `An integration may have ${max} webhooks; delete one first.`);

const goneSince = (): Failure =>
  new Failure('conflict', 'The webhook of this Idempotency-Key was deleted or rotated since.');
