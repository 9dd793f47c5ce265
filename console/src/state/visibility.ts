// Whether this tab is visible: a hidden tab sends no requests.
import { createStore } from '../store.ts';

const isVisible = (): boolean => document.visibilityState === 'visible';

export const visible = createStore(isVisible());
document.addEventListener('visibilitychange', () => visible.set(isVisible()));
