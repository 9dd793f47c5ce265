// Repeats a request that is answered 503: a gateway on a busy machine answers so for seconds, whatever the token is.
import { eventually } from './eventually.ts';

export const unlessBusy = (ask: () => Promise<Response>): Promise<Response> =>
  eventually(ask, ({ status }) => status !== 503);
