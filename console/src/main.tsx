// The entry of the console: it takes the token out of the address before it draws anything.
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
  // Rendered once: from then on the components follow changes of the session and the route.
  if (root?.hasChildNodes() === false) render(<App />, root);
}

void begin();
window.addEventListener('hashchange', () => void begin());
