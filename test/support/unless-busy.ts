// A machine that is busy for seconds makes a gateway answer 503, which says nothing about tokens: a caller repeats it.
import { eventually } from './eventually.ts';

export const unlessBusy = (ask: () => Promise<Response>): Promise<Response> =>
  eventually(ask, ({ status }) => status !== 503);
