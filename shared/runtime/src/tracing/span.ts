// What a service says of the steps that it takes. Where nothing is measured there is no `Tracing`: `tracing?.begin({…})`
// then makes nothing, its argument among it.

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  /** One of few: what it is done with stands in attributes. */
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer';
  /** The `traceparent` of the step from which it comes; without one a new trace begins. */
  parent: string | undefined;
  attributes?: Attributes;
}

/** One step. No attribute holds a field of a record, a token, a query or the words of a driver. */
export interface Span {
  /** For the steps that come from this one. */
  readonly traceparent: string;
  readonly isOver: boolean;
  set(attributes: Attributes): void;
  /** `work`, within which the span is `current` until it ends. */
  within<T>(work: () => T): T;
  /** With what was thrown, or its code, where it failed. */
  end(error?: unknown): void;
}

export interface Tracing extends AsyncDisposable {
  begin(start: SpanStart): Span;
  readonly current: Span | undefined;
}

/** `work` as one step, which fails as it does. */
export async function spanning<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    const result = await work();
    span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}
