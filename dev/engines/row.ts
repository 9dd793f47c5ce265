// A source of an engine (docker, path, download, build): its names, and its type.
import type { Ledger } from '../process/ledger.ts';
import type { Cache } from './cache.ts';
import type { Forced } from './choice.ts';
import type { EngineName, RunningEngine } from './engine.ts';
import type { Environment } from './environment.ts';

export interface RowContext {
  name: EngineName;
  environment: Environment;
  cache: Cache;
  ledger: Ledger;
  /** A folder for this engine from this source alone: engines of other sources cannot read its files. */
  dataFolder: string;
  /** The folder of the logs of the programs: NAME.log. */
  logFolder: string;
  /** The port of the last start, where clients that noted the address look for the engine. */
  portWished: number | undefined;
  /** The configuration of nats-server, in place of the usual configuration. */
  natsConfig: string | undefined;
  /** Called when a process of the engine has started or ended. */
  onChange: () => void;
  /** Whether the engine's data is removed when it stops. */
  temporary: boolean;
}

/** Starts the engine from one source, or says by NotServed why it cannot. */
export type Row = (context: RowContext) => Promise<RunningEngine>;
export type Rows = Record<Forced, Row>;
