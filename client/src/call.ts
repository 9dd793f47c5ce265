// What one call sends, and what it is answered.

export interface Call {
  method: string;
  /** With the query. */
  path: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** Its effect adds up: it is repeated only where the service has refused it before it began. */
  once?: boolean;
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

export type Send = (call: Call) => Promise<Answer>;
