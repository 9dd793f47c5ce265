// Subscriptions that outlast a refusal. If an operator takes a permission from the login of a running process, nats-server ends
// the subscription, and neither nats-server nor its client restores it once the login has the permission again. So it is
// renewed every five seconds until it is allowed. A subscription that was never allowed is not renewed: nats-server logs each
// refusal.
import type { Msg, NatsConnection, Subscription } from '@nats-io/nats-core';

const againMs = 5_000;

export interface LastingOptions {
  queue?: string;
  /** Called with each message, and with the first of several refusals in succession. */
  callback: (error: Error | null, message: Msg) => void;
  /** Called once the subscription is allowed again: messages were missed. */
  onMissed?: (() => void) | undefined;
}

export type Lasting = ReturnType<typeof subscribeLasting>;

/** The refused subjects of each connection that are being renewed. */
const renewed = new WeakMap<NatsConnection, Set<string>>();

/** Whether a refusal of the subject is known: nats-server refuses it again with each renewal. */
export const isRenewed = (nats: NatsConnection, subject: string): boolean =>
  renewed.get(nats)?.has(subject) === true;

export function subscribeLasting(nats: NatsConnection, subject: string, options: LastingOptions) {
  const { callback, onMissed = () => undefined, ...queue } = options;
  const refused = renewed.getOrInsertComputed(nats, () => new Set());
  let wasAllowed = false;
  let timer: NodeJS.Timeout | undefined;
  const subscribe = (then: () => void): Subscription => {
    const made = nats.subscribe(subject, {
      ...queue,
      callback(error, message) {
        if (error !== null && wasAllowed) timer = setTimeout(renew, againMs);
        if (error === null || !refused.has(subject)) callback(error, message);
      },
    });
    // nats-server refuses before it answers the flush. If the connection drops before that answer, the client subscribes again
    // after the reconnect. A refusal then counts as if the subscription had been allowed before.
    void nats
      .flush()
      .catch(() => undefined)
      .then(() => (made.isClosed() ? undefined : then()));
    return made;
  };
  const renew = (): void => {
    if (nats.isClosed() || nats.isDraining()) return;
    refused.add(subject);
    subscription = subscribe(() => {
      refused.delete(subject);
      onMissed();
    });
  };
  let subscription = subscribe(() => (wasAllowed = true));
  /** Ends the renewals, so that the refusal of a later subscription to the subject is reported. */
  const stopRenewing = (): void => {
    clearTimeout(timer);
    refused.delete(subject);
  };
  return {
    /** Unsubscribes, and resolves once the messages that nats-server had sent are taken. */
    async drain(): Promise<void> {
      stopRenewing();
      // nats-server has closed a subscription that it refused.
      if (!subscription.isClosed()) await subscription.drain();
    },
    [Symbol.dispose](): void {
      stopRenewing();
      subscription.unsubscribe();
    },
  };
}
