// Rotates the signing secret of an endpoint. During its grace period the former secret signs too.
import { Failure, limits, RotateSecret } from '@integration-sync/contracts';
import { refuseGivenUp, type BusHandler } from '@integration-sync/runtime/bus';
import type { Changed } from '../delivering/endpoint-changes.ts';
import { type PreviousSecret, previousSecretsMax, servingSecrets } from '../endpoints/endpoint.ts';
import type { Endpoints } from '../endpoints/endpoint-store.ts';
import { makeSecret } from '../secrets/signing-secret.ts';
import { keyIdOf, type Vault } from '../secrets/vault.ts';
import { endpointOf, json } from './handlers.ts';
import { accept, bodyExaminer } from './request-body.ts';
import { webhookOf } from './webhook-details.ts';

interface RotatingOptions {
  endpoints: Endpoints;
  vault: Vault;
  changed: Changed;
}

export function rotating({ endpoints, vault, changed }: RotatingOptions): BusHandler {
  const examine = bodyExaminer(RotateSecret, { optional: true });
  return async (request) => {
    const { gracePeriodSeconds = limits.gracePeriodSecondsDefault } = accept(examine(request));
    const secret = makeSecret();
    for (;;) {
      const endpoint = await endpointOf(endpoints, request);
      const expiresAt = gracePeriodSeconds === 0 ? null : new Date(Date.now() + gracePeriodSeconds * 1000);
      const serving = servingSecrets(endpoint, Date.now());
      if (expiresAt !== null && serving.length >= previousSecretsMax) throw tooManySecrets(serving);
      const before = expiresAt === null ? [] : [{ sealed: endpoint.secret, expiresAt }, ...serving];
      const previousSecrets = before.filter(({ sealed }) => !vault.lostIds.includes(keyIdOf(sealed)));
      await refuseGivenUp(request);
      const after = await endpoints.change(endpoint, {
        $set: { secret: vault.seal(secret, endpoint._id), previousSecrets, isRotated: true },
        $inc: { version: 1 },
      });
      if (after === null) continue;
      await changed(after);
      const former = previousSecrets.find(({ sealed }) => sealed === endpoint.secret);
      const previousSecretExpiresAt = former?.expiresAt.toISOString() ?? null;
      return json({ ...webhookOf(after), secret, previousSecretExpiresAt });
    }
  };
}

/** Refuses a rotation: no former secret ends before its announced time, unless the caller asks for an earlier end. */
function tooManySecrets(serving: readonly PreviousSecret[]): Failure {
  const next = new Date(Math.min(...serving.map(({ expiresAt }) => expiresAt.getTime())));
  return new Failure(
    'conflict',
    `A webhook signs with at most ${previousSecretsMax + 1} secrets at a time, and each of them is still in use: ` +
      `the next one expires at ${next.toISOString()}. ` +
      'Rotate after that, or with {"gracePeriodSeconds": 0}, which ends all previous secrets immediately.',
  );
}
