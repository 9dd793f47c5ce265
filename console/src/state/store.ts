// A value that components follow.
import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Store<T> {
  get(): T;
  set(next: T): void;
  subscribe(listener: () => void): () => void;
}

/** `when` says when those who follow it are told of a change; of several changes until then they are told once. */
export function createStore<T>(initial: T, when: (tell: () => void) => void = (tell) => tell()): Store<T> {
  let value = initial;
  let isTelling = false;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      value = next;
      if (isTelling) return;
      isTelling = true;
      when(() => {
        isTelling = false;
        for (const listener of listeners) listener();
      });
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
}

/** Draws the component again; the same function each time. */
export function useRedraw(): () => void {
  const [, setCount] = useState(0);
  return useCallback(() => setCount((count) => count + 1), []);
}

export function useStore<T>(store: Store<T>): T {
  const draw = useRedraw();
  const value = store.get();
  useEffect(() => {
    // It may have changed between the drawing and here.
    if (store.get() !== value) draw();
    return store.subscribe(draw);
  }, [store]);
  return value;
}
