// What one service's login hears of the others on a nats-server from deploy/nats: nothing that is not addressed to it. The answer
// to a registration contains the signing secret.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { services } from '../support/nats-users.ts';
import { openSystemWithUsers, type SystemWithUsers } from '../support/users-system.ts';

let system: SystemWithUsers;
beforeAll(async () => {
  system = await openSystemWithUsers(inject('engines').mongodb);
}, 60_000);
afterAll(() => system[Symbol.asyncDispose]());

const subjectsOf = (user: string): string[] => {
  const others = services.filter((service) => service !== user);
  const ofOthers = others.flatMap((service) => [
    `_INBOX_${service}.>`,
    `svc.${service}.>`,
    `$SRV.*.${service}`,
  ]);
  return [...ofOthers, '_INBOX.>', 'svc.>', 'webhooks.>', '_R_.>', '$JS.>', '$SYS.>', '*.>', '>'];
};

// Setup: a login of each kind hears all that nats-server lets it hear, as a replica in the hands of another.
it.each([...services, 'reader'] as const)(
  'the login %s receives no message for another service by any subscription',
  async (user) => {
    await using login = await system.nats.connectAs(user);
    const heard = new Map<string, string>();
    for (const subject of subjectsOf(user))
      for (const options of [{}, { queue: 'snoop' }])
        login.nats.subscribe(subject, {
          ...options,
          callback: (error, message) => void (error === null && heard.set(message.subject, message.string())),
        });
    await login.nats.flush();
    const integration = `four-${randomUUID()}`;
    const url = 'http://127.0.0.1:9/hook';
    const events = ['supplier.created'];
    const registered = await system.call(integration, 'POST', '/webhook-events', { url, events });
    expect(registered.body.secret).toMatch(/^whsec_/);
    const supplier = { externalId: 'S', name: 'Secret Timber', country: 'SE' };
    await system.call(integration, 'POST', '/suppliers', { suppliers: [supplier] });
    expect((await system.call(integration, 'GET', '/sync-runs')).body.total).toBe(1);
    await login.nats.flush();
    // It hears what its own account asks and is asked, and the reader events alone.
    const others = services.filter((service) => service !== user);
    const foreign = user === 'reader' ? /^(?!events\.)/ : new RegExp(`^_INBOX_(${others.join('|')})\\.`);
    expect([...heard.keys()].filter((subject) => foreign.test(subject))).toEqual([]);
    // webhooks makes the secret, which the gateway hears as an answer; catalog is asked with the record.
    const text = [...heard.values()].join();
    const seen = { secret: text.includes(registered.body.secret), record: text.includes('Secret Timber') };
    const allowed = {
      gateway: ['secret'],
      webhooks: ['secret'],
      catalog: ['record'],
      batches: [],
      reader: [],
    }[user];
    expect(Object.entries(seen).flatMap(([what, isSeen]) => (isSeen ? [what] : []))).toEqual(allowed);
  },
);

it.each([...services, 'reader'] as const)(
  'the login %s may not answer requests to another service',
  async (user) => {
    await using login = await system.nats.connectAs(user);
    const heard: string[] = [];
    const others = services.filter((service) => service !== user);
    await using stack = new AsyncDisposableStack();
    for (const service of others) {
      const victim = stack.use(await system.nats.connectAs(service));
      victim.nats.subscribe(`_INBOX_${service}.forged.*`, {
        callback: (_error, { subject }) => void heard.push(subject),
      });
      await victim.nats.flush();
    }
    for (const service of others) login.nats.publish(`_INBOX_${service}.forged.0`, 'forged');
    await login.nats.flush();
    // What comes later has overtaken nothing.
    for (const service of others) {
      await using victim = await system.nats.connectAs(service);
      victim.nats.publish(`_INBOX_${service}.forged.1`, 'own');
      await victim.nats.flush();
    }
    await eventually(
      () => heard.length,
      (count) => count >= others.length,
    );
    expect(heard.toSorted()).toEqual(others.map((service) => `_INBOX_${service}.forged.1`).toSorted());
  },
);
