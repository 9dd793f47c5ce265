// The customers of a storm: what each does stands in `customers/`.
import { openRandom } from '../../fuzz/random.ts';
import { clientsFileOf } from '../../stack/key.ts';
import { openCaller } from '../caller.ts';
import { clockMs } from '../clock.ts';
import { openCustomer, type Customer } from '../customers/customer.ts';
import { changeIt, deleteIt, disableIt, own, type Hooks } from '../customers/endpoints.ts';
import { rotateKeys } from '../customers/keys.ts';
import { mirror, readFeed } from '../customers/readers.ts';
import { openLedgerFile } from '../ledger.ts';
import { plurals } from '../lines.ts';
import { readPlan, stackFolderOf } from '../plan.ts';
import { startReceiver } from '../receiver.ts';
import { folderOfRole, takeRole } from '../role.ts';

const folder = folderOfRole();
const stop = new AbortController();
const log = openLedgerFile(folder, 'asks');
const notes = openLedgerFile(folder, 'notes');
let all: Promise<unknown> = Promise.resolve();
let readWhole: () => Promise<unknown>;

const filters: readonly string[][] = [
  [],
  ['sync.completed'],
  ['supplier.updated', 'sync.completed'],
  ['product.created', 'dds.created', 'supplier.archived'],
];

async function start(): Promise<void> {
  const plan = readPlan(folder);
  const begunAt = new Date(Date.now() - 60_000).toISOString();
  const random = openRandom(plan.seed * 1_000 + 800);
  const hits = openLedgerFile(folder, 'hits');
  const receiving: Hooks['receiving'] = new Map();
  const hooks: Hooks = { address: await startReceiver(hits, receiving, random), receiving };
  // All of them are customers of two integrations, so that a large storm has no more of them than a small one.
  const integrations = [plan.rules.integrations[0] ?? '', plan.rules.integrations.at(-1) ?? ''] as const;
  const open = (by: string, integration: string = random.pick(integrations)): Customer => {
    const caller = openCaller(plan, integration);
    return openCustomer({ by, integration, caller, random, log, stopped: stop.signal });
  };
  const done = [
    ...filters.map((kinds, nth) => readFeed(open(`feed ${nth}`), kinds)),
    ...plurals.map((plural) => mirror(open(`mirror ${plural}`), plural, begunAt)),
    own(open('endpoint 1', integrations[0]), hooks, changeIt),
    own(open('endpoint 2', integrations[1]), hooks, changeIt),
    own(open('endpoint 3'), hooks, disableIt),
    own(open('endpoint 4'), hooks, deleteIt),
    rotateKeys(open('keys'), clientsFileOf(stackFolderOf(folder))),
  ];
  all = Promise.all(done.map((one) => one.catch(noteFailure)));
  readWhole = () =>
    Promise.all(integrations.map((integration) => readFeed(open('whole', integration), [], begunAt)));
}

const noteFailure = (error: unknown): void =>
  notes.write({ atMs: clockMs(), note: String(error), isViolation: true });

takeRole({
  start,
  async stop() {
    stop.abort();
    await all;
    await readWhole();
  },
});
