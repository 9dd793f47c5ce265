// Changes of the story: forgeries, which a check must find, and changes that look like a violation and are none.
import type { ViolationClass } from '../../../dev/storm/check/violations.ts';
import type { Forger } from './forger.ts';

/** By what has changed. */
export type Changes = Readonly<Record<string, (forger: Forger) => unknown>>;

/** By the class of the violation. */
export type Forgeries = Readonly<Partial<Record<ViolationClass, Changes>>>;
