// Messages and questions to every replica that listens. Their number is not known, so a question collects answers for a given time.
import { isQuestion } from './caller.ts';
import type { Connection } from './connection.ts';
import { readHeaders, writeHeaders, type Headers } from './message.ts';

export interface Broadcast {
  subject: string;
  headers: Headers;
  body: Uint8Array;
}

export const openBroadcasts = (connection: Connection) => ({
  /** Publishes to every listener at most once. Does nothing once the bus closes: some work of the process ends later. */
  broadcast(
    subject: string,
    body: Uint8Array | string,
    headers: Readonly<Record<string, string>> = {},
  ): void {
    if (connection.nats.isDraining() || connection.nats.isClosed()) return;
    connection.nats.publish(subject, body, { headers: writeHeaders(headers) });
  },
  /** `onMissed` is called after a reconnect or a refusal: messages that came meanwhile are lost. */
  listen(
    subject: string,
    onMessage: (message: Broadcast) => void,
    onMissed: () => void = () => undefined,
  ): Disposable {
    using listening = new DisposableStack();
    listening.use(connection.onReconnect(onMissed));
    listening.use(
      connection.listen(
        subject,
        (message) =>
          onMessage({ subject: message.subject, headers: readHeaders(message.headers), body: message.data }),
        onMissed,
      ),
    );
    return listening.move();
  },
  /** The answers of all replicas that come within `forMs`. */
  async askAll(subject: string, forMs: number): Promise<Uint8Array[]> {
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
      // No replica listens, or the NATS connection dropped: the answers received until then count.
      connection.log.debug(
        { err: error, subject },
        'answers of replicas to a broadcast question may be missing',
      );
    }
    return answers;
  },
  answerAll: (subject: string, say: () => string | undefined) => answerAll(connection, subject, say),
});

/** Answers each question with the text that `say` returns; with nothing if `say` returns undefined. */
export const answerAll = (
  connection: Connection,
  subject: string,
  say: () => string | undefined,
): Disposable =>
  connection.listen(subject, (message) => {
    const words = isQuestion(message) ? say() : undefined;
    if (words !== undefined) message.respond(words);
  });
