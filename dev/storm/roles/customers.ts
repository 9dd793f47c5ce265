// Starts the customers that read, rotate keys or expect pushes; their code is in `customers/`.
import { clientsFileOf } from '../../stack/key.ts';
import { openCompany, type Customer } from '../customers/customer.ts';
import { expectPushes } from '../customers/expectations.ts';
import { rotateKeys } from '../customers/keys.ts';
import { mirror, poll, readFeed } from '../customers/readers.ts';
import { openLedgerFile } from '../ledger.ts';
import { plurals } from '../lines.ts';
import { stackFolderOf } from '../plan.ts';
import { endsOf, integrationsOf } from '../profile.ts';
import { folder, noteFailure, stop, takeRole } from '../role.ts';

const [log, pages] = [openLedgerFile(folder, 'asks'), openLedgerFile(folder, 'pages')];
const ending = new AsyncDisposableStack();
let all: Promise<unknown> = Promise.resolve();
let readWhole: () => Promise<unknown>;

const filters: readonly string[][] = [
  [],
  ['sync.completed'],
  ['supplier.updated', 'sync.completed'],
  ['product.created', 'dds.created', 'supplier.archived'],
];

async function start(): Promise<void> {
  const { plan, random, store, open: openAt } = await openCompany(800, log);
  ending.use(store);
  const begunAt = new Date(Date.now() - 60_000).toISOString();
  const ends = endsOf(plan.rules);
  const open = (by: string, integration: string = random.pick(ends)): Customer => openAt(by, integration);
  const done = [
    ...integrationsOf(plan.rules).flatMap((integration) =>
      plurals.map((plural) => poll(open(`poller of ${integration}/${plural}`, integration), plural, pages)),
    ),
    ...filters.map((kinds, nth) => readFeed(open(`feed ${nth}`), kinds)),
    ...plurals.map((plural) => mirror(open(`mirror ${plural}`), plural, begunAt)),
    ...[true, false, false].map((pushes, n) =>
      expectPushes((nth) => open(`expects ${n}`, `expects-${n}-${nth}`), store, pushes),
    ),
    rotateKeys(open('keys', 'keys'), clientsFileOf(stackFolderOf(folder))),
  ];
  all = Promise.all(done.map((one) => one.catch(noteFailure)));
  readWhole = () => Promise.all(ends.map((integration) => readFeed(open('whole', integration), [], begunAt)));
}

takeRole(
  {
    start,
    async stop() {
      stop.abort();
      await all;
      await readWhole();
    },
  },
  () => ending.disposeAsync(),
);
