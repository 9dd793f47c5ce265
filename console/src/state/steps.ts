// What this tab remembers of the first steps (views/first-steps.tsx): a failed run was read, the steps were hidden.
import { createStore } from '../store.ts';

const place = 'steps';

interface Steps {
  hasRead: boolean;
  isDone: boolean;
}

function readKept(): Steps {
  const kept = sessionStorage.getItem(place) ?? '';
  return { hasRead: kept.includes('read'), isDone: kept.includes('done') };
}

export const steps = createStore<Steps>(readKept());

function keep(next: Steps): void {
  sessionStorage.setItem(place, `${next.hasRead ? 'read ' : ''}${next.isDone ? 'done' : ''}`);
  steps.set(next);
}

export const readOne = (): void => keep({ ...steps.get(), hasRead: true });
export const leaveSteps = (): void => keep({ ...steps.get(), isDone: true });
