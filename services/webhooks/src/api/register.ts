// Registering an endpoint. The same url may be registered more than once: each is an endpoint of its own, with its own secret.
import { randomBytes } from 'node:crypto';
import { basePath, Failure, RegisterWebhook } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { newEndpoint, registeredWebhookOf } from '../endpoints/endpoint.ts';
import type { Revisions } from '../endpoints/revisions.ts';
import type { Endpoints } from '../endpoints/store.ts';
import type { TakeCutoff } from '../matching/cutoff.ts';
import { makeSecret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import type { EgressGuard } from '../sending/egress-guard.ts';
import { accept, bodyExaminer } from './body.ts';
import { json } from './handlers.ts';
import { settingsOf } from './settings.ts';
import { wrongIn } from './wrong-url.ts';

export interface RegisterOptions {
  endpoints: Endpoints;
  revisions: Pick<Revisions, 'changed'>;
  vault: Vault;
  guard: EgressGuard;
  takeCutoff: TakeCutoff;
  endpointsMax: number;
}

export function registering({
  endpoints,
  revisions,
  vault,
  guard,
  takeCutoff,
  endpointsMax,
}: RegisterOptions): BusHandler {
  const examine = bodyExaminer(RegisterWebhook);
  return async (request) => {
    const { integration } = request;
    const examined = examine(request);
    const given = accept(examined, await wrongIn(guard, examined));
    if ((await endpoints.count(integration)) >= endpointsMax) throw tooMany(endpointsMax);
    const id = `wh_${randomBytes(16).toString('hex')}`;
    const secret = makeSecret();
    const { through, underWay } = await takeCutoff(request);
    const endpoint = newEndpoint({
      id,
      integration,
      url: given.url,
      events: given.events,
      settings: settingsOf(given, vault, id).set,
      secret: vault.seal(secret, id),
      eventsAfter: through,
      eventsUnderWay: underWay,
    });
    await endpoints.insert(endpoint);
    // Others may have registered at the same moment; then none of the last ones may stay, but never one too many.
    if ((await endpoints.count(integration)) > endpointsMax) {
      await endpoints.remove(integration, id);
      throw tooMany(endpointsMax);
    }
    await revisions.changed(integration);
    return {
      ...json(registeredWebhookOf(endpoint, secret)),
      headers: { location: `${basePath}/webhook-events/${id}` },
    };
  };
}

const tooMany = (max: number): Failure =>
  new Failure('conflict', `An integration may have ${max} webhooks; delete one first.`);
