// A value to which components subscribe: a change draws them again.
import { useCallback, useEffect, useState } from 'preact/hooks';

export interface Store<T> {
  get(): T;
  set(next: T): void;
  subscribe(listener: () => void): () => void;
}

/** `when` decides when the listeners are called after a change. They are called once for all changes until then. */
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

/** Returns a function that draws the component again. It is the same function at each drawing. */
export function useRedraw(): () => void {
  const [, setCount] = useState(0);
  return useCallback(() => setCount((count) => count + 1), []);
}

export function useStore<T>(store: Store<T>): T {
  const draw = useRedraw();
  const value = store.get();
  useEffect(() => {
    // The value may have changed between the drawing and this effect.
    if (store.get() !== value) draw();
    return store.subscribe(draw);
  }, [store]);
  return value;
}
