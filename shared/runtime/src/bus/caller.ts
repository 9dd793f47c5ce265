// Who sent a request, and whether a replica may answer. The replica publishes its answer with its own rights, so the subject for
// the reply must be an inbox.
import { callerSubject, requestHeaders } from '@integration-sync/contracts';
import type { Msg } from '@nats-io/nats-core';

/** How the caller names its request (`reply`), and the subject on which it hears signs of life. */
export function callerOf({ reply = '', headers }: Msg) {
  const named = headers?.get(requestHeaders.caller) ?? '';
  const signs = callerSubject(named);
  return signs === undefined ? { reply, signs: reply } : { reply: named, signs };
}

/** An inbox of a service (`_INBOX_catalog.…`) or of another client (`_INBOX.…`, `_INBOX_my_service.…`), or `_R_.…` for either between accounts. */
const inbox = /^(_INBOX(_[\w-]+)?|_R_)\../;
/** nats-server adds this header to requests that one account imports from another. */
const ofImport = 'nats-request-info';

/** Whether a client asks for an answer. A message that JetStream delivers has another reply subject, or headers of JetStream. */
export const isQuestion = ({ reply = '', headers }: Msg): boolean =>
  inbox.test(reply) && (headers?.keys() ?? []).every((name) => isOfClient(name.toLowerCase()));

const isOfClient = (name: string): boolean => !name.startsWith('nats-') || name === ofImport;
