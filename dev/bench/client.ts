// A caller of the public interface that uses little processor time itself: kept connections, bodies made beforehand.
import { Agent, request } from 'node:http';
import { basePath } from '@integration-sync/contracts';

export interface Answer {
  status: number;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

export interface Client extends Disposable {
  post(path: string, body: Buffer): Promise<Answer>;
  /** Like `post`, but also resolves for a status other than 200. */
  tryPost(path: string, body: Buffer): Promise<Answer>;
  get(path: string): Promise<Answer>;
}

export function openClient(base: string, token: string): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const send = (method: string, path: string, body?: Buffer): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length }),
    };
    const asked = request(new URL(path, base), { method, agent, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const answer = {
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        };
        resolve(answer);
      });
    });
    asked.on('error', reject);
    asked.end(body);
    return promise;
  };
  const succeed = async (method: string, path: string, body?: Buffer): Promise<Answer> => {
    const answer = await send(method, path, body);
    if (answer.status === 200) return answer;
    throw new Error(`${method} ${path} was answered ${answer.status} ${answer.body.slice(0, 200)}`);
  };
  return {
    post: (path, body) => succeed('POST', path, body),
    tryPost: (path, body) => send('POST', path, body),
    get: (path) => succeed('GET', path),
    [Symbol.dispose]: () => agent.destroy(),
  };
}

/** Registers a webhook for the events of the suppliers that benchmarks push. */
export async function registerWebhook(client: Client, url: string): Promise<void> {
  const registration = Buffer.from(JSON.stringify({ url, events: ['supplier.created'] }));
  const { status, body } = await client.tryPost(`${basePath}/webhook-events`, registration);
  if (status !== 201) throw new Error(`the registration of a webhook was answered ${status} ${body}`);
}

export interface FeedPage {
  events: { id: string; event: string }[];
  next: string;
  more: boolean;
}

export async function askFeed(client: Client, query: Record<string, string>): Promise<FeedPage> {
  const { body } = await client.get(`${basePath}/events?${new URLSearchParams(query).toString()}`);
  const page: FeedPage = JSON.parse(body);
  return page;
}
