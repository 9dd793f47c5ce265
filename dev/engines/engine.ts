// The interface of an engine, the same for each source.
export type EngineName = 'mongodb' | 'nats';

/** The sources of an engine in the order in which a start tries them. */
export const sources = ['environment', 'docker', 'path', 'download', 'build'] as const;
export type Source = (typeof sources)[number];

export interface Engine extends AsyncDisposable {
  readonly name: EngineName;
  readonly url: string;
  readonly source: Source;
  /** The address of nats-server's monitoring. */
  readonly monitorUrl?: string;
  /** The engine's name, version and source, and why earlier sources did not serve. */
  readonly reason: string;
  /** The pids of the engine's processes on this machine; empty for an engine that the environment names. */
  pids(): number[];
  /** Sends SIGKILL to all processes of the engine. The engine restarts on the same port with its data, unless `hold` was called. */
  kill(): Promise<void>;
  /** From now on a dead engine stays dead, for tests of what happens while it is away. */
  hold(): void;
  /** Ends `hold`: the engine is started if it is dead. Resolves when it is up. */
  resume(): Promise<void>;
}

export type Addresses = Pick<Engine, 'url' | 'monitorUrl'>;

/** A running engine, without the reason for its choice. */
export interface RunningEngine extends Omit<Engine, 'name' | 'source' | 'reason'> {
  /** Name and version for people: `FerretDB 2.7.0 on PostgreSQL 18`. */
  readonly description: string;
}

/** The error that says why a source cannot serve here, and what to install or mend so that it can. */
export class NotServed extends Error {
  override readonly name = 'NotServed';
  readonly help: string;

  constructor(why: string, help: string, cause?: unknown) {
    super(why, { cause });
    this.help = help;
  }
}

/** The error if no source of an engine serves. Its message is for the person at the terminal. */
export class NoEngine extends Error {
  override readonly name = 'NoEngine';
}
