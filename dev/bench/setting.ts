// The arguments of every benchmark of `npm run bench`.
import type { Stack, StackOptions } from '../stack/index.ts';
import type { Bare } from './bare.ts';
import type { Client } from './client.ts';
import type { BenchOptions } from './options.ts';

export interface Setting {
  stack: Stack;
  /** A caller of the stack's gateway, of the integration `bench`. */
  client: Client;
  bare: Bare;
  options: BenchOptions;
  /** Starts one more stack, of other programs or with more replicas, on its own engines; it ends with the benchmark. */
  startBeside: (programs: Pick<StackOptions, 'mainOf' | 'replicas'>) => Promise<Stack>;
  say: (line: string) => void;
}
