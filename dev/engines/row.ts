// One row of the table of sources: what it gets, and what it does.
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
  /** This engine's own, and this source's own: engines do not read each other's files. */
  dataFolder: string;
  /** Where its programs' logs go: NAME.log. */
  logFolder: string;
  /** The port of the last time, at which clients that noted the address look for it. */
  portWished: number | undefined;
  /** The configuration of nats-server, in place of the usual one. */
  natsConfig: string | undefined;
  /** A process of the engine has come or gone. */
  onChange: () => void;
  /** Its data may go once it stops. */
  temporary: boolean;
}

/** Starts the engine from one source, or says by NotServed why it cannot. */
export type Row = (context: RowContext) => Promise<RunningEngine>;
export type Rows = Record<Forced, Row>;
