// What a test lets go on when it ends: one that fails leaves nothing behind that its services would wait for.

/** To be declared after the services, which then end later. */
export const ending = (...held: readonly { resolve: () => void }[]): Disposable => ({
  [Symbol.dispose]() {
    for (const { resolve } of held) resolve();
  },
});
