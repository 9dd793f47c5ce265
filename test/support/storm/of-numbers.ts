// Forgeries of the numbers of a batch and its statement, of expectations, and of drills.
import { dateOf, integration, syncOf, type Forger, type Forgeries, type Changes } from './forger.ts';
import { drop, statement } from './story.ts';

const numbered = { ...statement, status: 'REFERENCED' as const, referenceNumber: 'R1', missing: [] };
const changedFields = ['status', 'referenceNumber'];

/** A push late in the story gives the batch a reference number, and its statement follows. */
function giveNumber(forger: Forger): void {
  const { ledger } = forger;
  const { externalId, ...fields } = {
    externalId: 'p-b-1',
    batchNumber: 'f1/0',
    productExternalId: 'p-p-1',
    quantity: 5,
    unit: 'kg',
    ddsReferenceNumber: 'R1',
  };
  const times = { begunMs: 95_000, endedMs: 95_010 };
  const items = [{ externalId, ...fields }];
  forger.push({ name: 'g1', plural: 'batches', items, said: ['UPDATED'], ...times });
  forger.updated('g1', 'batches', externalId, ['ddsReferenceNumber']);
  forger.announce('dds.updated', `${syncOf('g1')}-redrafted-0`, { ...numbered, changedFields });
  ledger.stored.find((line) => line.externalId === externalId)!.fields = fields;
  ledger.drafts[0]!.entry = numbered;
  const { ids } = ledger.asks.findLast(({ by }) => by === 'whole')!.answer as { ids: string[] };
  ids.push(...ids.splice(ids.indexOf(`${syncOf('g1')}-completed`), 1));
}

const dueAt = dateOf(50_000);
const asked = { integration: 'expects-0-0', by: 'expects 0', endedMs: 40_000, outcome: 200 } as const;

/** An expectation that is due at 50 s; `pushedMs`: when a push was answered. */
function expectPush({ ledger }: Forger, pushedMs?: number): void {
  const sent = { dueAt };
  ledger.asks.push({ ...asked, method: 'WRITE', path: '/expectations', sent, begunMs: 39_000 });
  if (pushedMs !== undefined)
    ledger.asks.push({ ...asked, method: 'POST', path: '/suppliers', begunMs: 49_000, endedMs: pushedMs });
}

function announceOverdue({ ledger }: Forger, id: string, at = 60_000): void {
  const data = { entityType: 'supplier' as const, everyHours: 1, lastPushAt: null, dueAt };
  const body = {
    event: 'sync.overdue' as const,
    timestamp: dateOf(60_000),
    integrationId: asked.integration,
    data,
  };
  const message = { sequence: 5_000 + ledger.events.length, subject: 'events.expects-0-0.sync.overdue' };
  ledger.events.push({ ...message, id, body, bodyHash: '', storedAt: dateOf(at) });
}

const drilled = {
  by: 'endpoint 5',
  integration,
  method: 'GET',
  begunMs: 80_000,
  endedMs: 80_010,
  outcome: 200,
};

function drill({ ledger }: Forger, answer: object): void {
  const hit = {
    ...ledger.deliveries.at(-1)!,
    endpoint: 'wh_drilled',
    event: 'evt_drill',
    genuine: false,
    drill: true,
  };
  ledger.deliveries.push(hit);
  ledger.asks.push({ ...drilled, path: '/webhook-events/wh_drilled', answer });
}

export const forgedNumbers: Forgeries = {
  draft: {
    'a statement does not follow its batch': (forger) => {
      giveNumber(forger);
      forger.ledger.drafts[0]!.entry = statement;
    },
    'a batch with a number has no statement': (forger) => {
      giveNumber(forger);
      forger.ledger.drafts.pop();
    },
    'a change of a statement is not announced': (forger) => {
      giveNumber(forger);
      drop(forger.ledger.events, ({ id }) => id.includes('redrafted'));
    },
    'a change of a statement is announced by two runs': (forger) => {
      giveNumber(forger);
      forger.announce('dds.updated', `${syncOf('a1')}-redrafted-0`, { ...numbered, changedFields });
    },
  },
  overdue: {
    'a push that does not come is not announced': (forger) => expectPush(forger),
    'a push that does not come is announced twice': (forger) => {
      expectPush(forger);
      for (const id of ['exp_1-overdue-1', 'exp_1-overdue-2']) announceOverdue(forger, id);
    },
    'a push that does not come is announced after two minutes': (forger) => {
      expectPush(forger);
      announceOverdue(forger, 'exp_1-overdue-1', 170_000);
    },
    'a push in the last second is announced as missing': (forger) => {
      expectPush(forger, 49_900);
      announceOverdue(forger, 'exp_1-overdue-1');
    },
    'a push that no caller expects is announced as missing': (forger) =>
      announceOverdue(forger, 'exp_1-overdue-1'),
  },
  drill: {
    'a drill counts as a failure': (forger) => drill(forger, { active: true, consecutiveFailures: 1 }),
    'a drill disables its endpoint': (forger) => drill(forger, { active: false, consecutiveFailures: 0 }),
    'a drill is in the attempt log': (forger) => drill(forger, { logged: ['evt_drill'] }),
    'a drill is on the stream': (forger) => {
      drill(forger, { active: true, consecutiveFailures: 0 });
      forger.announce('sync.completed', 'evt_drill', {});
    },
  },
};

export const permittedNumbers: Changes = {
  'a statement follows its batch, and says so once': giveNumber,
  'a push that does not come is announced once': (forger) => {
    expectPush(forger);
    announceOverdue(forger, 'exp_1-overdue-1');
  },
  'a push in the last second is not announced': (forger) => expectPush(forger, 49_900),
  'a drill that its receiver refuses leaves no trace': (forger) =>
    drill(forger, { active: true, consecutiveFailures: 0, logged: ['evt_other'] }),
};
