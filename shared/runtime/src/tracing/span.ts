// The interface of tracing. While tracing is off, `tracing?.begin({…})` does not even evaluate its argument.

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  /** The name of the span, one of few: values that vary are attributes. */
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer';
  /** The `traceparent` of the parent span; undefined begins a new trace. */
  parent: string | undefined;
  attributes?: Attributes;
}

/** One span. No attribute may hold a field of a record, a token, a query or the message of a driver's error. */
export interface Span {
  /** The `traceparent` for child spans. */
  readonly traceparent: string;
  readonly isOver: boolean;
  set(attributes: Attributes): void;
  /** Runs `work` with the span as `current`, until the span ends. */
  within<T>(work: () => T): T;
  /** Ends the span; `error` is the thrown error, or its code. */
  end(error?: unknown): void;
}

export interface Tracing extends AsyncDisposable {
  begin(start: SpanStart): Span;
  readonly current: Span | undefined;
}

/** Runs `work` and ends the span with its outcome. */
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
