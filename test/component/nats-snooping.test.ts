// What one service's login sees of the others on a nats-server from deploy/nats: nothing that is not
// addressed to it. The answer to a registration contains the signing secret.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { services } from '../support/nats-users.ts';
import { openSystemWithUsers, type SystemWithUsers } from '../support/users-system.ts';

let system: SystemWithUsers;
beforeAll(async () => {
  system = await openSystemWithUsers(inject('engines').mongodb);
}, 60_000);
afterAll(() => system[Symbol.asyncDispose]());

/** With what one login sees of it. */
async function snoop(user: (typeof services)[number] | 'reader', subject: string, queue?: string) {
  const snooper = await system.nats.connectAs(user);
  const seen: string[] = [];
  snooper.nats.subscribe(subject, {
    ...(queue === undefined ? {} : { queue }),
    callback: (error, message) => void (error === null && seen.push(message.string())),
  });
  await snooper.nats.flush();
  return { ...snooper, seen };
}

const inboxesBut = (user: string) =>
  services.filter((service) => service !== user).map((service) => `_INBOX_${service}.>`);

describe('a login of one service', () => {
  it.each([...services, 'reader'] as const)('%s may listen only where others address it', async (user) => {
    const requests = services.filter((service) => service !== user).map((service) => `svc.${service}.>`);
    for (const subject of [...inboxesBut(user), ...requests, '_INBOX.>', 'svc.>', '$JS.>', '*.>', '>']) {
      for (const queue of [undefined, 'webhooks']) {
        await using snooper = await snoop(user, subject, queue);
        const refusal = expect.stringContaining(`Permissions Violation for Subscription to "${subject}"`);
        await expect.poll(() => snooper.refusals, { message: subject }).toEqual([refusal]);
      }
    }
  });

  it.each([...services, 'reader'] as const)(
    '%s may not answer what others ask another service',
    async (user) => {
      await using login = await system.nats.connectAs(user);
      const subjects = inboxesBut(user).map((inbox) => inbox.replace('>', 'x.0'));
      for (const subject of [...subjects, '_INBOX.x']) login.nats.publish(subject, 'forged');
      await login.nats.flush();
      await expect.poll(() => login.refusals.length).toBe(subjects.length + 1);
    },
  );

  it('sees no signing secret when a webhook is registered', async () => {
    const snoopers = await Promise.all(
      ([...services, 'reader'] as const).flatMap((user) =>
        [...inboxesBut(user), '_INBOX.>', '>'].map((subject) => snoop(user, subject)),
      ),
    );
    const registered = await system.call(`four-${randomUUID()}`, 'POST', '/webhook-events', {
      url: 'http://127.0.0.1:9/hook',
      events: ['supplier.created'],
    });
    expect(registered.body.secret).toMatch(/^whsec_/);
    for (const snooper of snoopers) {
      await snooper.nats.flush();
      expect(snooper.seen.join()).not.toContain(registered.body.secret);
      await snooper[Symbol.asyncDispose]();
    }
  });
});
