// What ends a command at the terminal.

export const endSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** To end. At a second signal, such as npm's copy of the terminal's, the process goes on ending. */
export function untilTold(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const signal of endSignals) process.on(signal, () => resolve());
  return promise;
}
