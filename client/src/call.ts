// What one HTTP call of the client sends, and the answer that it gets.

export interface Call {
  method: string;
  /** The path of the call, with its query. */
  path: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** Called before each repetition of the call: after 429, 502, 503, 504 or a broken connection. */
  repeated?: (() => void) | undefined;
  /**
   * Whether a second execution of the call would have another effect. Such a call is repeated only after 429 or 401, which refuse
   * a call before it begins.
   */
  once?: boolean;
}

export interface Answer<Body> {
  headers: Headers;
  body: Body;
}

export type Send = <Body>(call: Call) => Promise<Answer<Body>>;
