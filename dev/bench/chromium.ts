// Chromium, driven by its DevTools protocol. Playwright listens to each request of a page, which takes a tenth of the processor time of
// a load in that page, and makes the longest tasks of its main thread.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { switches } from '../browser.ts';
import { temporaryFolder } from './temporary.ts';

const ownSwitches = [
  '--headless=new',
  '--remote-debugging-port=0',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-background-timer-throttling',
  '--disable-backgrounding-occluded-windows',
  '--disable-renderer-backgrounding',
];

export interface Chromium extends AsyncDisposable {
  /** A page of a new profile. */
  openPage(): Promise<ChromiumPage>;
  processes(): Promise<readonly ChromiumProcess[]>;
}

export interface ChromiumProcess {
  type: string;
  id: number;
  /** In seconds. */
  cpuTime: number;
}

export interface ChromiumPage extends AsyncDisposable {
  goTo(url: string): Promise<void>;
  /** Waits until the expression is neither undefined, false nor an error. */
  until(expression: string, withinMs?: number): Promise<void>;
  evaluate(expression: string): Promise<unknown>;
  /** Chooses files in the input that the expression is. */
  choose(input: string, paths: readonly string[]): Promise<void>;
  /** The heap of the page, and of its worker if it has one, with the memory of buffers, in bytes. */
  heaps(): Promise<{ page: number; worker: number }>;
}

export async function openChromium(executable: string): Promise<Chromium> {
  await using starting = new AsyncDisposableStack();
  const { folder } = starting.use(await temporaryFolder());
  const child = spawn(executable, [...switches, ...ownSwitches, `--user-data-dir=${folder}`, 'about:blank'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'exit');
  starting.defer(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const protocol = starting.use(await Protocol.open(await addressIn(child.stderr)));
  const release = starting.move();
  return {
    openPage: () => openPage(protocol),
    async processes() {
      const { processInfo }: { processInfo: ChromiumProcess[] } =
        await protocol.ask('SystemInfo.getProcessInfo');
      return processInfo;
    },
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}

async function addressIn(errors: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: errors })) {
    const [, address] = /^DevTools listening on (ws:\S+)/.exec(line) ?? [];
    if (address === undefined) continue;
    // Later output of Chromium is dropped, but must be read, or the pipe would fill.
    errors.resume();
    return address;
  }
  throw new Error('Chromium ended before it printed its address');
}

async function openPage(protocol: Protocol): Promise<ChromiumPage> {
  const { browserContextId }: { browserContextId: string } = await protocol.ask(
    'Target.createBrowserContext',
  );
  const { targetId }: { targetId: string } = await protocol.ask('Target.createTarget', {
    url: 'about:blank',
    browserContextId,
  });
  const attached: { sessionId: string } = await protocol.ask('Target.attachToTarget', {
    targetId,
    flatten: true,
  });
  const page = attached.sessionId;
  let worker: string | undefined;
  protocol.on('Target.attachedToTarget', page, ({ sessionId, targetInfo }) => {
    if (targetInfo.type === 'worker') worker = sessionId;
  });
  const attach = { autoAttach: true, waitForDebuggerOnStart: false, flatten: true };
  await protocol.ask('Target.setAutoAttach', attach, page);
  const run = async (expression: string, options: object): Promise<RemoteObject> => {
    const { result, exceptionDetails }: Evaluated = await protocol.ask(
      'Runtime.evaluate',
      { expression, awaitPromise: true, ...options },
      page,
    );
    if (exceptionDetails !== undefined) throw new Error(`${expression}: ${exceptionDetails.text}`);
    return result;
  };
  const evaluate = async (expression: string): Promise<unknown> =>
    (await run(expression, { returnByValue: true })).value;
  const heapOf = async (session: string | undefined): Promise<number> =>
    session === undefined ? 0 : bytesOf(await protocol.ask('Runtime.getHeapUsage', {}, session));
  return {
    async goTo(url) {
      await protocol.ask('Page.navigate', { url }, page);
    },
    evaluate,
    async until(expression, withinMs = 30_000) {
      const end = performance.now() + withinMs;
      while (!(await evaluate(`Boolean(${expression})`).catch(() => false))) {
        if (performance.now() > end)
          throw new Error(`the expression is still false after ${withinMs} ms: ${expression}`);
        await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
      }
    },
    async choose(input, paths) {
      const { objectId } = await run(input, {});
      await protocol.ask('DOM.setFileInputFiles', { files: paths, objectId }, page);
    },
    async heaps() {
      const [own, other] = await Promise.all([heapOf(page), heapOf(worker)]);
      return { page: own, worker: other };
    },
    async [Symbol.asyncDispose]() {
      await protocol.ask('Target.disposeBrowserContext', { browserContextId });
    },
  };
}

const pollEveryMs = 100;

interface RemoteObject {
  objectId?: string;
  value?: unknown;
}

interface Evaluated {
  result: RemoteObject;
  exceptionDetails?: { text: string };
}

interface HeapUsage {
  usedSize: number;
  embedderHeapUsedSize: number;
  backingStorageSize: number;
}

const bytesOf = ({ usedSize, embedderHeapUsedSize, backingStorageSize }: HeapUsage): number =>
  usedSize + embedderHeapUsedSize + backingStorageSize;

interface Message {
  id?: number;
  result?: unknown;
  error?: { message: string };
  method?: string;
  sessionId?: string;
  params?: Attached;
}

interface Attached {
  sessionId: string;
  targetInfo: { type: string };
}

class Protocol implements AsyncDisposable {
  readonly #socket: WebSocket;
  readonly #asked = new Map<number, PromiseWithResolvers<unknown>>();
  readonly #listeners = new Map<string, (params: Attached) => void>();
  #count = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => this.#hear(String(data)));
    socket.addEventListener('close', () => {
      for (const { reject } of this.#asked.values()) reject(new Error('Chromium has ended'));
    });
  }

  static async open(address: string): Promise<Protocol> {
    const socket = new WebSocket(address);
    await once(socket, 'open');
    return new Protocol(socket);
  }

  on(method: string, sessionId: string, listener: (params: Attached) => void): void {
    this.#listeners.set(`${method} ${sessionId}`, listener);
  }

  // The caller names the shape of the answer, as the protocol describes it.
  async ask<Answer>(method: string, params: object = {}, sessionId?: string): Promise<Answer> {
    this.#count += 1;
    const id = this.#count;
    const asked = Promise.withResolvers<unknown>();
    this.#asked.set(id, asked);
    this.#socket.send(JSON.stringify({ id, method, params, sessionId }));
    const answer: Answer = JSON.parse(JSON.stringify(await asked.promise));
    return answer;
  }

  #hear(text: string): void {
    const { id, result, error, method, sessionId, params }: Message = JSON.parse(text);
    if (id === undefined) {
      if (params !== undefined) this.#listeners.get(`${method} ${sessionId}`)?.(params);
      return;
    }
    const asked = this.#asked.get(id);
    this.#asked.delete(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(error.message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.close();
  }
}
