// The arguments of every benchmark.
import type { Stack, StackOptions } from '../stack/index.ts';
import type { BenchOptions } from './options.ts';
import type { House } from './webhooks/house.ts';

export interface Setting {
  options: BenchOptions;
  say: (line: string) => void;
  /** Starts a stack on its own engines, of other programs or with more replicas; it ends with the benchmark. */
  startStack: (programs?: Pick<StackOptions, 'mainOf' | 'replicas'>) => Promise<Stack>;
  /** Starts engines and a receiver for replicas of the webhooks service alone; they end with the benchmark. */
  startHouse: () => Promise<House>;
}
