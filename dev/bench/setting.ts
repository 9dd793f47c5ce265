// What every benchmark of `npm run bench` is given.
import type { Service, Stack } from '../stack/index.ts';
import type { Bare } from './bare.ts';
import type { Client } from './client.ts';
import type { BenchOptions } from './options.ts';

export interface Setting {
  stack: Stack;
  /** A caller of the stack's gateway, of the integration `bench`. */
  client: Client;
  bare: Bare;
  options: BenchOptions;
  /** One more stack, whose services are these programs. It has engines of its own and ends with the benchmark. */
  startBeside: (mainOf: (service: Service) => string) => Promise<Stack>;
  say: (line: string) => void;
}
