// Whether anybody can see this tab: a hidden one asks nothing.
import { createStore } from './store.ts';

const isVisible = (): boolean => document.visibilityState === 'visible';

export const visible = createStore(isVisible());
document.addEventListener('visibilitychange', () => visible.set(isVisible()));
