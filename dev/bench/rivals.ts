// Pushes to other frameworks on the same engines, in turns with the service: a Fastify process and NestJS microservices over
// NATS, each with bulk upserts and a publish per event; and a bare `insertMany` that announces nothing.
import { openBus } from '@integration-sync/runtime/bus';
import { openLog } from '@integration-sync/runtime/log';
import { openBare } from './bare.ts';
import { openClient, type Client } from './client.ts';
import { itemsPerPush, makeItems, pushBody, suppliersPath } from './items.ts';
import { compare, inLanes, type Contender } from './measure.ts';
import { ofBareScript, ofService, processesOf } from './processes.ts';
import { freshName, settleMs } from './push.ts';
import { installRivals, integration, proveRival, rivals, startRival } from './rivals-start.ts';
import { reportOfRates } from './rates.ts';
import type { Setting } from './setting.ts';

const turnsDefault = 9;
const warmDefault = 60;
const pushesPerLane = 3;
const ours = 'service';
const inserts = 'insertMany';

/** By contender: the service's rate of pushes of new suppliers must be at least this many times the contender's rate. */
const wanted: Readonly<Record<string, number>> = { NestJS: 5, [inserts]: 0.85 };

export async function benchRivals({ startStack, options, say }: Setting): Promise<void> {
  const { turns = turnsDefault, warm = warmDefault } = options;
  // The rivals are installed before the engines start, so that a failed installation is reported early.
  await installRivals(say);
  const stack = await startStack();
  await using ending = new AsyncDisposableStack();
  const client = ending.use(openClient(stack.gateway, stack.token({ integration })));
  const bare = ending.use(await openBare(stack));
  const log = openLog({ service: 'bench', level: 'warn' });
  const bus = ending.use(await openBus({ url: stack.nats, name: 'bench', log }));
  const callers = new Map<string, Client>([[ours, client]]);
  const processes: Record<string, readonly number[]> = {};
  const own = new Map<string, readonly string[]>([
    [ours, ofService],
    [inserts, ofBareScript],
  ]);
  for (const spec of rivals) {
    const rival = await startRival(stack, spec, ending);
    await proveRival(rival, bus);
    callers.set(rival.name, rival.client);
    Object.assign(processes, rival.processes);
    own.set(rival.name, [...Object.keys(rival.processes), 'nats-server', ...ofBareScript]);
  }
  for (const one of callers.values()) {
    await inLanes(4, Math.ceil(warm / 4), () => one.post(suppliersPath, pushBody(makeItems(freshName()))));
  }
  for (const [kind, lanes] of [
    ['new', 1],
    ['new', 4],
    ['unchanged', 4],
  ] as const) {
    const contenders = await contendersOf(kind, lanes, callers);
    if (kind === 'new') {
      contenders.push({
        name: inserts,
        prepare() {
          const several = Array.from({ length: lanes * pushesPerLane }, () => makeItems(freshName()));
          return () => inLanes(lanes, pushesPerLane, (index) => bare.insert(several[index] ?? []));
        },
      });
    }
    const compared = await compare(contenders, {
      turns,
      settleMs,
      processes: () => ({ ...processesOf(stack), ...processes }),
    });
    const report = reportOfRates(compared, {
      what: `pushes of ${itemsPerPush} ${kind} suppliers, ${lanes} in flight`,
      one: 'push',
      count: lanes * pushesPerLane,
      turns,
      ours: [ours],
      wanted: kind === 'new' ? wanted : {},
      own: (name) => own.get(name) ?? [],
    });
    for (const line of report) say(line);
  }
}

async function contendersOf(
  kind: 'new' | 'unchanged',
  lanes: number,
  callers: ReadonlyMap<string, Client>,
): Promise<Contender[]> {
  const bodies = () => Array.from({ length: lanes * pushesPerLane }, () => pushBody(makeItems(freshName())));
  const contenders: Contender[] = [];
  for (const [name, caller] of callers) {
    const push = (all: readonly Buffer[]) => () =>
      inLanes(lanes, pushesPerLane, (index) => caller.post(suppliersPath, all[index] ?? Buffer.alloc(0)));
    if (kind === 'new') contenders.push({ name, prepare: () => push(bodies()) });
    else {
      const known = bodies();
      await push(known)();
      contenders.push({ name, prepare: () => push(known) });
    }
  }
  return contenders;
}
