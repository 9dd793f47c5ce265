// Rotating a secret: the previous ones go on signing beside it until their grace period ends.
import { Failure, limits, RotateSecret } from '@integration-sync/contracts';
import type { BusHandler } from '@integration-sync/runtime/bus';
import { previousSecretsMax, servingSecrets, webhookOf, type PreviousSecret } from '../endpoints/endpoint.ts';
import type { Revisions } from '../endpoints/revisions.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/store.ts';
import { makeSecret } from '../secrets/secret.ts';
import type { Vault } from '../secrets/vault.ts';
import { bodyReader } from './body.ts';
import { endpointOf, json } from './handlers.ts';

export interface RotateOptions {
  endpoints: Endpoints;
  revisions: Pick<Revisions, 'changed'>;
  vault: Vault;
  tellChanged: (endpoint: Pick<Endpoint, '_id' | 'integration'>) => void;
}

export function rotating({ endpoints, revisions, vault, tellChanged }: RotateOptions): BusHandler {
  const read = bodyReader(RotateSecret, { optional: true });
  return async (request) => {
    const { gracePeriodSeconds = limits.gracePeriodSecondsDefault } = read(request);
    const secret = makeSecret();
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const expiresAt = gracePeriodSeconds === 0 ? null : new Date(Date.now() + gracePeriodSeconds * 1000);
      const serving = servingSecrets(endpoint, Date.now());
      if (expiresAt !== null && serving.length >= previousSecretsMax) throw tooManySecrets(serving);
      const previousSecrets = expiresAt === null ? [] : [{ sealed: endpoint.secret, expiresAt }, ...serving];
      const changed = await endpoints.change(endpoint, {
        $set: {
          secret: vault.seal(secret, endpoint._id),
          previousSecrets,
          isRotated: true,
        },
        $inc: { version: 1 },
      });
      if (changed === null) continue;
      await revisions.changed(changed.integration);
      tellChanged(changed);
      return json({
        ...webhookOf(changed),
        secret,
        previousSecretExpiresAt: expiresAt?.toISOString() ?? null,
      });
    }
  };
}

/** No secret ends before its announced time, unless its owner asks for that. */
function tooManySecrets(serving: readonly PreviousSecret[]): Failure {
  const next = new Date(Math.min(...serving.map(({ expiresAt }) => expiresAt.getTime())));
  return new Failure(
    'conflict',
    `A webhook signs with at most ${previousSecretsMax + 1} secrets at once, and each of them is still in use: ` +
      `the next one expires at ${next.toISOString()}. ` +
      'Rotate after that, or with {"gracePeriodSeconds": 0}, which ends all previous ones at once.',
  );
}
