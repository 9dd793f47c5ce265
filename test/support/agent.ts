// The program of an agent: it starts `integration-sync mcp` and speaks the protocol, with messages written out by hand.
import { createInterface } from 'node:readline';
import { createServer, request as ask } from 'node:http';
import type { Ended, Loader } from './loader-command.ts';
import { listen } from './servers.ts';

export interface Called {
  error?: { code: number; message: string };
  result?: { isError?: boolean; content: { type: string; text: string }[] } & Record<string, unknown>;
}

export interface Agent {
  call(method: string, params?: object): Promise<Called>;
  /** Calls a tool; resolves with the text of its answer and what stands between the marks. */
  use(tool: string, args: object): Promise<{ isError: boolean; text: string; data: Record<string, unknown> }>;
  /** Writes bytes that need not be a message. */
  write(bytes: string): Promise<void>;
  end(): Promise<Ended>;
  readonly ended: Promise<Ended>;
}

export async function startAgent(loader: Loader): Promise<Agent> {
  const { child, ended } = loader.start('mcp');
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error('the loader has no pipes');
  // A server that ends breaks the pipe.
  stdin.on('error', () => undefined);
  const waiting = new Map<number, (answer: Called) => void>();
  createInterface({ input: stdout }).on('line', (line) => {
    const { id, ...answer } = JSON.parse(line) as Called & { id: number };
    waiting.get(id)?.(answer);
  });
  const say = (message: object): Promise<void> =>
    write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const write = (bytes: string): Promise<void> => new Promise((done) => stdin.write(bytes, () => done()));
  let last = 0;
  const call = async (method: string, params: object = {}): Promise<Called> => {
    const id = (last += 1);
    const answer = new Promise<Called>((resolve) => waiting.set(id, resolve));
    await say({ id, method, params });
    const over = ended.then(({ err }) => {
      throw new Error(`the server has ended: ${err}`);
    });
    return Promise.race([answer, over]);
  };
  await call('initialize', {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  });
  await say({ method: 'notifications/initialized' });
  return {
    call,
    async use(name, args) {
      const { result, error } = await call('tools/call', { name, arguments: args });
      if (error !== undefined) throw new Error(error.message);
      const text = result?.content[0]?.text ?? '';
      const [, , mark, json, end] = text.split('\n');
      const data = mark === end && json !== undefined ? (JSON.parse(json) as Record<string, unknown>) : {};
      return { isError: result?.isError === true, text, data };
    },
    write,
    end() {
      stdin.end();
      return ended;
    },
    ended,
  };
}

export interface Recorder extends AsyncDisposable {
  readonly url: string;
  /** Method and path of each request, without the query. */
  readonly seen: string[];
}

/** Stands before a gateway, and writes down what callers ask for. */
export async function startRecorder(gateway: string): Promise<Recorder> {
  const seen: string[] = [];
  const server = createServer((incoming, answer) => {
    const { method = '', url = '', headers } = incoming;
    seen.push(`${method} ${url.split('?')[0]}`);
    const outgoing = ask(`${gateway}${url}`, { method, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    incoming.pipe(outgoing);
  });
  return { ...(await listen(server)), seen };
}
