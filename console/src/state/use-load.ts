// Loads the answer to a request of a view. An older answer stays while the gateway is away. A failed request is sent
// again after `Retry-After` if it may succeed later.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { call, type Answer } from '../api/call.ts';
import { Problem } from '../api/problem.ts';
import type { Request } from '../api/request.ts';
import { session } from '../api/session.ts';
import { useStore } from '../store.ts';
import { useWhenOld } from './use-when-old.ts';
import { visible } from './visibility.ts';

export interface Loaded<T> {
  answer: Answer<T> | undefined;
  /** When the answer came, by this machine's clock. */
  at: number;
  problem: Problem | undefined;
  reload: () => void;
}

interface State<T> extends Omit<Loaded<T>, 'reload'> {
  path: string | undefined;
}

/** Sends nothing if the request is undefined. With `isLive`, an old answer is loaded again (use-when-old.ts). */
export function useLoad<T>(request: Request | undefined, isLive = false): Loaded<T> {
  const path = request?.path;
  const [state, setState] = useState<State<T>>({ path, answer: undefined, at: 0, problem: undefined });
  const [turn, setTurn] = useState(0);
  const { token, ended } = useStore(session);
  const isVisible = useStore(visible);
  const shown = useRef(state);
  shown.current = state;

  // A layout effect sends the request before the browser's first paint, which takes longer than the request.
  useLayoutEffect(() => {
    if (request === undefined || token === undefined || ended !== undefined || !isVisible) return undefined;
    const asking = new AbortController();
    let timer: number | undefined;
    const again = (inMs: number): void => {
      timer = window.setTimeout(() => setTurn((count) => count + 1), inMs);
    };
    call<T>(request, asking.signal).then(
      (answer) => {
        setState({ path, answer, at: Date.now(), problem: undefined });
      },
      (error: unknown) => {
        if (asking.signal.aborted) return;
        const problem = error instanceof Problem ? error : new Problem(0, String(error));
        const { path: before, answer, at } = shown.current;
        setState(
          before === path ? { path, answer, at, problem } : { path, answer: undefined, at: 0, problem },
        );
        if (problem.passes) again(problem.retryAfterMs);
      },
    );
    return () => {
      asking.abort();
      window.clearTimeout(timer);
    };
  }, [path, token, ended, isVisible, turn]);

  const { answer, at, problem } =
    state.path === path ? state : { answer: undefined, at: 0, problem: undefined };
  const reload = (): void => setTurn((count) => count + 1);
  useWhenOld(isLive && problem === undefined ? answer : undefined, reload);
  return { answer, at, problem, reload };
}
