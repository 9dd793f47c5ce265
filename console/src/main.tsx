// The console begins: the token leaves the address before anything is drawn.
import { render } from 'preact';
import { followLink } from './api/opening.ts';
import { takeToken } from './api/session.ts';
import { App } from './app.tsx';
import { readRoute } from './state/route.ts';

const root = document.getElementById('console');

async function begin(): Promise<void> {
  if (await followLink()) return;
  takeToken();
  readRoute();
  // Drawn once; from then on it follows the session and the route by itself.
  if (root?.hasChildNodes() === false) render(<App />, root);
}

void begin();
window.addEventListener('hashchange', () => void begin());
