// Who sent a request, and whether a replica may answer. An answer goes where the message says, with the rights of the replica: a
// caller must not have it sent to a subject that is no inbox.
import { callerSubject, requestHeaders } from '@integration-sync/contracts';
import type { Msg } from '@nats-io/nats-core';

/** How the caller names its request (`reply`), and the subject on which it hears signs of life. */
export function callerOf({ reply = '', headers }: Msg) {
  const named = headers?.get(requestHeaders.caller) ?? '';
  const signs = callerSubject(named);
  return signs === undefined ? { reply, signs: reply } : { reply: named, signs };
}

/** The inbox of a login (`_INBOX_catalog.…`), the NATS client's own, or what nats-server makes of either between two accounts. */
const inbox = /^(_INBOX(_[A-Za-z0-9-]+)?|_R_)\../;
/** nats-server adds this header to what one account imports from another. */
const ofImport = 'nats-request-info';

/** Whether the message is a question of a client: what JetStream delivers has another reply subject, or headers of its own. */
export const isQuestion = ({ reply = '', headers }: Msg): boolean =>
  inbox.test(reply) && (headers?.keys() ?? []).every((name) => isOfClient(name.toLowerCase()));

const isOfClient = (name: string): boolean => !name.startsWith('nats-') || name === ofImport;
