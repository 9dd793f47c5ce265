// The signals that end a command at the terminal.

export const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Resolves at the first signal. A second one, such as the copy that npm passes on, does not kill the process. */
export function untilTold(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of endSignals) process.on(signal, () => resolve());
  return promise;
}
