// The service as the worker reaches it: with the token of the page, and with the next one after a 401.
import { openRecordClient, type RecordClient } from '@integration-sync/client';
import type { Access } from '../protocol.ts';

export interface ServiceOptions {
  url: string;
  /** Called when the service has refused the token: the page asks for another token. */
  onEnded: (token: string) => void;
  /** What requests wait for, in words; undefined once the service answers again. */
  onWaiting: (what: string | undefined) => void;
}

const asksAgain = 'The console asks again for five minutes.';

export class Service {
  readonly #options: ServiceOptions;
  readonly #refused = new Set<string>();
  #access: Access;
  #awaken: () => void = () => undefined;
  #changed: Promise<void> = Promise.resolve();

  constructor(access: Access, options: ServiceOptions) {
    this.#access = access;
    this.#options = options;
    this.#expectChange();
  }

  get url(): string {
    return this.#options.url;
  }

  /** Ignores the token of an integration other than that of the load. */
  use(access: Access): void {
    if (access.integration !== this.#access.integration) return;
    // The same key is valid again once an operator has put it back.
    this.#refused.delete(access.token);
    this.#access = access;
    this.#awaken();
    this.#expectChange();
  }

  client(signal: AbortSignal): RecordClient {
    return openRecordClient({
      baseUrl: this.#options.url,
      token: () => this.#token(signal),
      signal,
      fetch: (address, init) => this.#fetch(address, init),
    });
  }

  #expectChange(): void {
    ({ promise: this.#changed, resolve: this.#awaken } = Promise.withResolvers<void>());
  }

  async #token(signal: AbortSignal): Promise<string> {
    while (this.#refused.has(this.#access.token)) {
      this.#options.onWaiting(
        `The service does not take the token: ${this.#access.integration} needs another one.`,
      );
      await Promise.race([this.#changed, aborted(signal)]);
      signal.throwIfAborted();
    }
    return this.#access.token;
  }

  async #fetch(address: string | URL | Request, init: RequestInit = {}): Promise<Response> {
    const { token } = this.#access;
    try {
      const answer = await fetch(address, { ...init, credentials: 'omit', cache: 'no-store' });
      if (answer.status === 401) {
        const sent = new Headers(init.headers).get('authorization')?.replace('Bearer ', '') ?? token;
        this.#refused.add(sent);
        this.#options.onEnded(sent);
      } else if ([429, 502, 503, 504].includes(answer.status))
        this.#options.onWaiting(`The service answers ${answer.status}. ${asksAgain}`);
      // Late answers to earlier requests do not end the wait for another token while the present token is refused.
      else if (!this.#refused.has(this.#access.token)) this.#options.onWaiting(undefined);
      return answer;
    } catch (error) {
      if (init.signal?.aborted !== true) this.#options.onWaiting(`The service does not answer. ${asksAgain}`);
      throw error;
    }
  }
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
