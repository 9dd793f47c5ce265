// A question to every replica that listens, each of which answers once or, where it has nothing to say, not at all. How
// many there are is not known, so the caller says for how long it collects answers.
import type { Connection } from './connection.ts';

export async function askAll(connection: Connection, subject: string, forMs: number): Promise<Uint8Array[]> {
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
    // No replica listens, or the line dropped: what came until then is what there is.
    connection.log.debug({ err: error, subject }, 'not every replica could be asked');
  }
  return answers;
}

/** Answers with what `say` returns, unless that is undefined. */
export function answerAll(
  connection: Connection,
  subject: string,
  say: () => string | undefined,
): Disposable {
  const subscription = connection.nats.subscribe(subject, {
    callback(error, message) {
      const words = error === null ? say() : undefined;
      if (words !== undefined) message.respond(words);
    },
  });
  return { [Symbol.dispose]: () => subscription.unsubscribe() };
}
