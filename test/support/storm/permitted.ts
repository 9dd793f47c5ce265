// Ledgers that look like a violation and have none.
import type { Changes } from './forgery.ts';
import { cutOffA3, drop, statement } from './story.ts';

export const permitted: Changes = {
  'a later push has filled in what a statement lacked': ({ ledger }) =>
    (ledger.drafts[0]!.entry = { ...statement, hsCode: '4407', missing: ['geolocation'] }),
  'a push that was answered 504 took effect before the next one began': (forger) =>
    forger.updated('unknown', 'suppliers', 'p-s-1', ['name']),
  'a push that was hung up is seen until it is replaced': (forger) =>
    forger.read('suppliers', 'h-s-1', 'd1/0', 2_000),
  'of two pushes at the same time either is seen': (forger) => {
    forger.read('suppliers', 'h-s-1', 'b2/0', 7_000);
    forger.read('suppliers', 'h-s-1', 'c1/0', 8_000);
  },
  'a connection breaks while a gateway is struck': ({ ledger }) => {
    ledger.ended[1]!.outcome = 'broken';
    ledger.faults.push({ target: 'gateway', kind: 'kill', pid: 1, atMs: 1_000, untilMs: 1_000 });
  },
  'more may still come of a push that was cut off': (forger) => {
    cutOffA3(forger);
    drop(forger.ledger.asks, ({ answer }) => /"ids":.*a3/.test(JSON.stringify(answer ?? '')));
    forger.ledger.pending.push({ syncId: 'sync_x', hashes: ['of-p-s-1'] });
  },
  'a receiver that failed had an event given up': ({ ledger }) => {
    ledger.endpoints[0]!.behaviour = 'flaky';
    const [first] = ledger.deliveries.splice(0, 1);
    ledger.givenUp.push({ endpoint: 'wh_1', event: first!.event });
  },
};
