// The errors that a journal entry keeps until it expires: those of the first failed items, with shortened texts.
import { limits, type RunError } from '@integration-sync/contracts';
import { errorOf, inPushedOrder, type Rejected } from '../items/push-answer.ts';

export const keptErrors = (rejected: readonly Rejected[]): RunError[] =>
  inPushedOrder(rejected)
    .slice(0, limits.runErrorsMax)
    .map((one) => ({
      index: one.position,
      externalId: one.externalId,
      error: Array.from(errorOf(one)).slice(0, limits.runErrorCharactersMax).join(''),
    }));
