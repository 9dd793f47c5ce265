// What goes to every replica that listens: words without an answer, and questions. How many replicas there are is not known, so
// one that asks says for how long it collects answers.
import type { Connection } from './connection.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';

export interface Broadcast {
  subject: string;
  headers: Headers;
  body: Uint8Array;
}

export interface Broadcasts {
  /** To every listener of every replica, once, without any promise; to none once the bus is being closed. */
  broadcast(subject: string, body: Uint8Array | string, headers?: Readonly<Record<string, string>>): void;
  /** `onMissed`: the line was down, and what was said meanwhile is not said again. */
  listen(subject: string, onMessage: (message: Broadcast) => void, onMissed?: () => void): Disposable;
  /** What every replica that has something to say says within that time. */
  askAll(subject: string, forMs: number): Promise<Uint8Array[]>;
  /** Answers with what `say` returns, unless that is undefined. */
  answerAll(subject: string, say: () => string | undefined): Disposable;
}

export const openBroadcasts = (connection: Connection): Broadcasts => ({
  broadcast(subject, body, headers = {}) {
    // Work that ends after the bus of its process may still want to broadcast.
    if (connection.nats.isDraining() || connection.nats.isClosed()) return;
    connection.nats.publish(subject, body, { headers: writeHeaders(headers) });
  },
  listen(subject, onMessage, onMissed = () => undefined) {
    using listening = new DisposableStack();
    listening.use(connection.onReconnect(onMissed));
    listening.use(
      connection.listen(subject, (message) =>
        onMessage({ subject: message.subject, headers: readHeaders(message.headers), body: message.data }),
      ),
    );
    return listening.move();
  },
  async askAll(subject, forMs) {
    const answers: Uint8Array[] = [];
    try {
      await connection.whileConnected(async () => {
        const coming = await connection.nats.requestMany(subject, undefined, {
          strategy: 'timer',
          maxWait: forMs,
          noMux: true,
        });
        for await (const { data } of coming) answers.push(data);
      });
    } catch (error) {
      // No replica listens, or the connection to NATS dropped: the answers that came before are all.
      connection.log.debug({ err: error, subject }, 'not every replica could be asked');
    }
    return answers;
  },
  answerAll: (subject, say) =>
    connection.listen(subject, (message) => {
      const words = say();
      if (words !== undefined) message.respond(words);
    }),
});
