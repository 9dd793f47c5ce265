// The type of a forgery, which a check must find, and of a permitted change, which looks like a violation and is none.
import type { ViolationClass } from '../../../dev/storm/check/violations.ts';
import type { Forger } from './forger.ts';

export type Forgery = readonly [what: string, found: ViolationClass, forge: (forger: Forger) => void];

export type Permitted = readonly [what: string, forge: (forger: Forger) => void];
