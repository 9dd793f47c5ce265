// The console begins: the token leaves the address before anything is drawn.
import { render } from 'preact';
import { takeToken } from './api/session.ts';
import { App } from './app.tsx';
import { readRoute } from './state/route.ts';

function begin(): void {
  takeToken();
  readRoute();
}

begin();
window.addEventListener('hashchange', begin);
const root = document.getElementById('console');
if (root !== null) render(<App />, root);
