// A real browser without a window, where the machine has one: Chromium, over its own protocol.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { eventually } from './eventually.ts';

/** Where it is, or undefined. */
export function findChromium(): string | undefined {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface Page extends AsyncDisposable {
  /** Every address that the page asked for. */
  requested: string[];
  /** The errors and warnings in its console, and the exceptions of the page. */
  complaints: string[];
  open(url: string): Promise<void>;
  evaluate<T>(expression: string): Promise<T>;
  /** A PNG of the whole page. */
  screenshot(): Promise<Buffer>;
}

interface ProtocolMessage {
  id?: number;
  method?: string;
  params?: {
    request?: { url: string };
    entry?: { level: string; text: string };
    type?: string;
    args?: { value?: unknown; description?: string }[];
    exceptionDetails?: { text: string; exception?: { description?: string } };
  };
  result?: Record<string, unknown>;
  error?: { message: string };
}

export async function openPage(chromium: string): Promise<Page> {
  await using opening = new AsyncDisposableStack();
  const profile = await mkdtemp(join(tmpdir(), 'integration-sync-browser-'));
  opening.defer(() => rm(profile, { recursive: true, force: true, maxRetries: 5 }));
  const flags = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-dev-shm-usage',
    '--no-first-run',
  ];
  const quiet = [
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--no-default-browser-check',
  ];
  const child = spawn(
    chromium,
    [
      ...flags,
      ...quiet,
      '--remote-debugging-port=0',
      '--window-size=1280,1600',
      `--user-data-dir=${profile}`,
      'about:blank',
    ],
    { stdio: 'ignore' },
  );
  opening.defer(async () => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  });

  const port = await eventually(
    () => readPort(profile),
    (found) => found !== '',
    30_000,
  );
  const targets = (await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()) as {
    type: string;
    webSocketDebuggerUrl: string;
  }[];
  const target = targets.find(({ type }) => type === 'page');
  if (target === undefined) throw new Error('the browser has no page');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  opening.defer(() => socket.close());

  const requested: string[] = [];
  const complaints: string[] = [];
  const answers = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();
  socket.addEventListener('message', ({ data }) => {
    const { id, method, params, result, error }: ProtocolMessage = JSON.parse(String(data));
    if (id !== undefined && error !== undefined) answers.get(id)?.reject(new Error(error.message));
    if (id !== undefined) answers.get(id)?.resolve(result ?? {});
    if (method === 'Network.requestWillBeSent') requested.push(params?.request?.url ?? '');
    if (method === 'Log.entryAdded' && params?.entry?.level !== 'info')
      complaints.push(params?.entry?.text ?? '');
    if (method === 'Runtime.exceptionThrown') {
      complaints.push(
        params?.exceptionDetails?.exception?.description ?? params?.exceptionDetails?.text ?? '',
      );
    }
    if (method === 'Runtime.consoleAPICalled' && ['error', 'warning'].includes(params?.type ?? '')) {
      complaints.push(
        (params?.args ?? []).map(({ value, description }) => description ?? JSON.stringify(value)).join(' '),
      );
    }
  });
  let count = 0;
  const command = (method: string, params: object = {}): Promise<Record<string, unknown>> => {
    const id = (count += 1);
    const answer = Promise.withResolvers<Record<string, unknown>>();
    answers.set(id, answer);
    socket.send(JSON.stringify({ id, method, params }));
    return answer.promise;
  };
  for (const domain of ['Network', 'Log', 'Runtime', 'Page']) await command(`${domain}.enable`);

  const opened = opening.move();
  return {
    requested,
    complaints,
    open: async (url) => void (await command('Page.navigate', { url })),
    async evaluate<T>(expression: string) {
      const { result } = await command('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      });
      return (result as { value: T }).value;
    },
    async screenshot() {
      const { data } = await command('Page.captureScreenshot', { captureBeyondViewport: true });
      return Buffer.from(String(data), 'base64');
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** The browser writes down which port it took. */
async function readPort(profile: string): Promise<string> {
  const text = await readFile(join(profile, 'DevToolsActivePort'), 'utf8').catch(() => '');
  return text.split('\n')[0] ?? '';
}
