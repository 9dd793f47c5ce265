// The stack under the storm: two replicas of each service, the second gateway beside it, and a look at their memory; for a
// storm on a cluster three nats-servers, and a proxy before the gateways.
import { join } from 'node:path';
import { startNatsCluster, type NatsCluster } from '../../engines/nats-cluster.ts';
import { openLedger as openPids, endLeftovers } from '../../process/ledger.ts';
import { withDescendants } from '../../process/family.ts';
import { sendSignal } from '../../process/identity.ts';
import { residentByPid } from '../../process/memory.ts';
import { findPort } from '../../process/port.ts';
import { openProxy } from '../../process/proxy.ts';
import { readFacts } from '../../stack/facts.ts';
import { startStack, type Stack } from '../../stack/index.ts';
import { waitUntilReady } from '../../stack/readiness.ts';
import { startReplica, type Replica } from '../../stack/replica.ts';
import type { Service, Settings } from '../../stack/services.ts';
import { clockMs, openLedgerFile } from '../ledger.ts';
import { startOwners } from '../owners.ts';
import { readChosen, stackFolderOf, writeLive, writePlan, type Live } from '../plan.ts';
import { profiles } from '../profile.ts';
import { programOf } from '../programs.ts';
import { folder, say, takeRole } from '../role.ts';

const running = new AsyncDisposableStack();
const memory = running.use(openLedgerFile(folder, 'memory'));
const live: Live = { owners: {}, nodes: [] };
let stack: Stack | undefined;
/** A start that fails says so at once; a machine with a load of 40 takes minutes. */
const readyWithinMs = 15 * 60_000;
const memoryEveryMs = 2_000;

const note = (change: Partial<Live>): void => writeLive(folder, Object.assign(live, change));

/** Leaves out log lines of services, whose complaints during faults are expected; their log files have them. */
const sayUnlessTrouble = (line: string): void => {
  if (/^[^\n]*\bdied \(/.test(line) || !/: (?:warn|error|fatal): /.test(line)) say(line);
};

async function start(): Promise<void> {
  const chosen = readChosen(folder);
  const { cluster, owners: count = 0 } = profiles[chosen.profile];
  note({});
  const ofCluster = cluster === undefined ? {} : { NATS_URL: (await startNodes()).url, STREAM_REPLICAS: '3' };
  const environment = { ...environmentOfStorm(), ...ofCluster };
  stack = running.use(
    await startStack({
      folder: stackFolderOf(folder),
      fresh: true,
      temporary: true,
      environment,
      mainOf: programOf,
      say: sayUnlessTrouble,
      readyWithinMs,
      replicas: { catalog: 2, batches: 2, webhooks: count > 0 ? 1 : 2 },
    }),
  );
  // Before the engines stop: a frozen process can neither end nor answer.
  running.defer(async () => letEverythingGoOn());
  const { gateway, nats, mongodb, database, authSecret = '', logFolder } = stack;
  const pidsFile = join(folder, 'live.pids');
  await endLeftovers(pidsFile);
  const ledger = openPids(pidsFile);
  running.defer(() => ledger.close());
  /** Starts a replica beside those of the stack. */
  const startFurther = (
    service: Service,
    number: number,
    own: Settings,
    onChange: () => void,
  ): Promise<Replica> =>
    startReplica({
      environment,
      ledger,
      logFolder,
      stopWithinMs: 10_000,
      service,
      number,
      settings: { ...readFacts(stackFolderOf(folder))?.settings[service], ...own },
      main: programOf(service),
      onChange,
      onTrouble: () => undefined,
      onDeath: (name, how) => say(`${name} died (${how})`),
    });

  const port = String(await findPort());
  const url = `http://127.0.0.1:${port}`;
  let second: Replica | undefined;
  const noteSecond = (): void => note({ second: { url, pid: second?.child.pid() } });
  second = await startFurther('gateway', 2, { GATEWAY_PORT: port }, noteSecond);
  running.use(second.child);
  noteSecond();
  await waitUntilReady(url, { withinMs: readyWithinMs });
  running.use(
    await startOwners({
      stack,
      count,
      start: (number, own, onChange) => startFurther('webhooks', number, own, onChange),
      onChange: (owners) => note({ owners }),
    }),
  );
  running.defer(async () => letEverythingGoOn());
  const timer = setInterval(lookAtMemory, memoryEveryMs);
  running.defer(() => clearInterval(timer));
  const gateways: [string, string] = [gateway, url];
  if (cluster !== undefined) gateways.fill(running.use(await openProxy(gateways)).url);
  const facts = { gateways, nats, mongodb, database, authSecret, stackPid: process.pid };
  writePlan(folder, { ...chosen, ...facts });
}

async function startNodes(): Promise<NatsCluster> {
  let cluster: NatsCluster | undefined;
  const onChange = (): void => {
    const nodes = cluster?.nodes.map(({ name, engine }) => {
      return { name, monitorUrl: engine.monitorUrl ?? '', pid: engine.pids()[0] };
    });
    note({ nodes: nodes ?? [] });
  };
  const dataFolder = join(folder, 'nats');
  cluster = running.use(await startNatsCluster({ dataFolder, fresh: true, temporary: true, onChange }));
  onChange();
  return cluster;
}

takeRole(
  {
    start,
    async ready() {
      await stack?.ready(readyWithinMs);
    },
  },
  () => running.disposeAsync(),
);

/** Engines of the storm's own: it does not touch those of a system in use. */
const ofSystems = /^(?:MONGODB_URL|MONGODB_DATABASE|NATS_URL|NATS_MONITOR_URL|AUTH_JWKS_URL)$/;

/**
 * All receivers share one process, and the processors with the system. With more deliveries in flight at once, a backlog of
 * minutes times out at receivers that are well.
 */
const inFlightMax = 192;

const environmentOfStorm = (): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofSystems.test(name))),
  GATEWAY_HOST: '127.0.0.1',
  GATEWAY_PORT: '0',
  WEBHOOK_IN_FLIGHT_MAX: String(inFlightMax),
});

const pidOfSecond = (): number[] => (live.second?.pid === undefined ? [] : [live.second.pid]);

function letEverythingGoOn(): void {
  const ofStack = Object.values(stack?.pids() ?? {}).flat();
  const ofLive = [...Object.values(live.owners).flat(), ...live.nodes.flatMap(({ pid }) => pid ?? [])];
  for (const pid of withDescendants([...ofStack, ...pidOfSecond(), ...ofLive])) sendSignal(pid, 'SIGCONT');
}

function lookAtMemory(): void {
  const { nats: _nats, mongodb: _mongodb, ...services } = stack?.pids() ?? {};
  const all = { ...services, 'webhooks-2': live.owners.webhooks ?? [], 'gateway-2': pidOfSecond() };
  const serviceOf = new Map(
    Object.entries(all).flatMap(([service, pids]) => pids.map((pid) => [pid, service] as const)),
  );
  for (const [pid, mb] of residentByPid([...serviceOf.keys()]))
    memory.write({ service: serviceOf.get(pid) ?? '', pid, atMs: clockMs(), mb });
}
