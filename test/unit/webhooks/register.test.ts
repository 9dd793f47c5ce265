// A registration that was cut off, and is repeated under its Idempotency-Key.
import { requestHeaders, subjects } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';
import { expect, it } from 'vitest';
import { registering, type RegisterOptions } from '../../../services/webhooks/src/api/register.ts';
import type { Endpoint } from '../../../services/webhooks/src/endpoints/endpoint.ts';
import type { Registration } from '../../../services/webhooks/src/endpoints/idempotency-keys.ts';
import { openVault } from '../../../services/webhooks/src/secrets/vault.ts';
import { secretKey } from '../../support/webhooks.ts';

const target = {
  origin: 'https://acme.example',
  authority: 'acme.example',
  path: '/hook',
  host: 'acme.example',
  isLiteral: false,
  port: 443,
  secure: true,
  addresses: ['192.0.2.1'],
};

it('a registration, also a repeated one, replaces the revision of the integration before the answer', async () => {
  const stored = new Map<string, Endpoint>();
  const begun = new Map<string, Registration>();
  let isAway = true;
  let revisions = 0;
  const options: RegisterOptions = {
    endpoints: {
      count: async () => stored.size,
      insert: async (one: Endpoint) => void stored.set(one._id, one),
      findOf: async (_integration: string, id: string) => stored.get(id) ?? null,
      remove: async () => true,
    },
    registrations: {
      begin: async (one: Registration) => begun.getOrInsert(one._id, one),
      finish: async () => undefined,
      drop: async () => undefined,
    },
    revisions: {
      async changed() {
        if (isAway) throw new Error('MongoDB is away');
        revisions += 1;
      },
    },
    vault: openVault(secretKey),
    guard: async () => target,
    takeCutoff: async () => ({ through: 0, underWay: [] }),
    endpointsMax: 10,
  };
  const register = registering(options);
  const body = { url: 'https://acme.example/hook', events: ['supplier.created'] };
  const request = {
    subject: subjects.endpointsRegister,
    integration: 'acme',
    waitedForUntilMs: Infinity,
    headers: new Map([[requestHeaders.idempotencyKey, 'key-1']]),
    body: Buffer.from(JSON.stringify(body)),
  } as unknown as BusRequest;
  await expect(register(request)).rejects.toThrow('MongoDB is away');
  isAway = false;
  await register(request);
  expect([stored.size, revisions]).toEqual([1, 1]);
});
