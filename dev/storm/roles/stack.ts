// The stack under the storm: two replicas of each service, the second gateway beside it, and a look at their memory; for a
// storm on a cluster three nats-servers, and a proxy before the gateways.
import { join } from 'node:path';
import { startNatsCluster, type NatsCluster } from '../../engines/nats-cluster.ts';
import { openLedger as openPids, endLeftovers } from '../../process/ledger.ts';
import { withDescendants } from '../../process/family.ts';
import { writeJson } from '../../process/files.ts';
import { sendSignal } from '../../process/identity.ts';
import { findPort } from '../../process/port.ts';
import { readFacts } from '../../stack/facts.ts';
import { startStack, type Stack } from '../../stack/index.ts';
import { waitUntilReady } from '../../stack/readiness.ts';
import { startReplica, type Replica } from '../../stack/replica.ts';
import { clockMs } from '../clock.ts';
import { writeNodes } from '../cluster/nodes.ts';
import { startProxy } from '../cluster/proxy.ts';
import { openLedgerFile } from '../ledger.ts';
import { profiles } from '../profile.ts';
import { programOf } from '../programs.ts';
import { residentByPid } from '../memory-of.ts';
import { folderOfRole, say, takeRole } from '../role.ts';
import { pidsOfOwners, startOwners, type Owners } from '../owners.ts';
import { stackFolderOf } from '../plan.ts';
import { secondGatewayOf } from '../second-gateway.ts';

const folder = folderOfRole();
const running = new AsyncDisposableStack();
const memory = running.use(openLedgerFile(folder, 'memory'));
let stack: Stack | undefined;
let second: Replica | undefined;
let cluster: NatsCluster | undefined;
let owners: Owners | undefined;
/** A start that fails says so at once; a machine with a load of 40 takes minutes. */
const readyWithinMs = 15 * 60_000;
const two = { catalog: 2, batches: 2 };

/** Leaves out log lines of services, whose complaints during faults are expected; their log files have them. */
const sayUnlessTrouble = (line: string): void => {
  if (/^[^\n]*\bdied \(/.test(line) || !/: (?:warn|error|fatal): /.test(line)) say(line);
};

async function start(settings: Record<string, string> = {}, ownersCount = 0) {
  const environment = { ...environmentOfStorm(), ...settings };
  const options = {
    folder: stackFolderOf(folder),
    fresh: true,
    temporary: true,
    environment,
    mainOf: programOf,
    say: sayUnlessTrouble,
    readyWithinMs,
  };
  stack = running.use(
    await startStack({ ...options, replicas: { ...two, webhooks: ownersCount > 0 ? 1 : 2 } }),
  );
  // Before the engines stop: a frozen process can neither end nor answer.
  running.defer(async () => letEverythingGoOn());
  const gateway = await startSecondGateway(stack, environment);
  if (ownersCount > 0) await startOwnersOf(stack, environment, ownersCount);
  const timer = setInterval(lookAtMemory, memoryEveryMs);
  running.defer(() => clearInterval(timer));
  const { nats, mongodb, database, authSecret } = stack;
  return { gateways: [stack.gateway, gateway], nats, mongodb, database, authSecret };
}

async function startNodes(): Promise<NatsCluster> {
  const onChange = (): void => {
    if (cluster !== undefined) writeNodes(folder, cluster);
  };
  const dataFolder = join(folder, 'nats');
  cluster = await startNatsCluster({ dataFolder, fresh: true, temporary: true, onChange });
  onChange();
  return cluster;
}

takeRole(
  {
    start: () => start(),
    'start-with-owners': () => start({}, profiles.owners.owners),
    async 'start-on-cluster'() {
      const nats = running.use(await startNodes()).url;
      const facts = await start({ NATS_URL: nats, STREAM_REPLICAS: '3' });
      const { url } = running.use(await startProxy(facts.gateways));
      return { ...facts, gateways: [url, url] };
    },
    async ready() {
      await stack?.ready(readyWithinMs);
    },
    end: () => running.disposeAsync(),
  },
  () => running.disposeAsync(),
);

const ofSystems = new Set([
  'MONGODB_URL',
  'MONGODB_DATABASE',
  'NATS_URL',
  'NATS_MONITOR_URL',
  'AUTH_JWKS_URL',
]);

/**
 * All receivers share one process, and the processors with the system. With more deliveries in flight at once, a backlog of
 * minutes times out at receivers that are well.
 */
const inFlightMax = 192;

/** Engines of the storm's own: it does not touch those of a system in use. */
function environmentOfStorm(): Record<string, string | undefined> {
  const kept = Object.entries(process.env).filter(([name]) => !ofSystems.has(name));
  return {
    ...Object.fromEntries(kept),
    GATEWAY_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    WEBHOOK_IN_FLIGHT_MAX: String(inFlightMax),
  };
}

async function startSecondGateway(of: Stack, environment: NodeJS.ProcessEnv): Promise<string> {
  const port = await findPort();
  const url = `http://127.0.0.1:${port}`;
  await endLeftovers(`${secondGatewayOf(folder)}.pids`);
  const ledger = openPids(`${secondGatewayOf(folder)}.pids`);
  const note = (): void => writeJson(secondGatewayOf(folder), { url, pid: second?.child.pid() });
  second = await startReplica({
    service: 'gateway',
    number: 2,
    settings: { ...readFacts(stackFolderOf(folder))?.settings.gateway, GATEWAY_PORT: String(port) },
    environment,
    main: programOf('gateway'),
    logFolder: of.logFolder,
    ledger,
    stopWithinMs: 10_000,
    onTrouble: () => undefined,
    onChange: note,
    onDeath: (name, how) => say(`${name} died (${how})`),
  });
  const replica = second;
  running.defer(async () => {
    await replica.child.stop();
    ledger.close();
  });
  note();
  await waitUntilReady(url, { withinMs: readyWithinMs });
  return url;
}

const onDeath = (name: string, how: string): void => say(`${name} died (${how})`);

async function startOwnersOf(of: Stack, environment: NodeJS.ProcessEnv, count: number): Promise<void> {
  const file = join(folder, 'owners.pids');
  await endLeftovers(file);
  const ledger = openPids(file);
  running.defer(() => ledger.close());
  owners = running.use(await startOwners({ folder, stack: of, count, environment, ledger, onDeath }));
  running.defer(async () => letEverythingGoOn());
}

function letEverythingGoOn(): void {
  const pids = [
    ...Object.values(stack?.pids() ?? {}).flat(),
    ...(second?.child.pid() === undefined ? [] : [second.child.pid() ?? 0]),
    ...(owners?.pids() ?? []),
    ...(cluster?.servers.flatMap((server) => server.pids()) ?? []),
  ];
  for (const pid of withDescendants(pids)) sendSignal(pid, 'SIGCONT');
}

const memoryEveryMs = 2_000;

function lookAtMemory(): void {
  const { nats: _nats, mongodb: _mongodb, ...services } = stack?.pids() ?? {};
  const pids = {
    ...services,
    'webhooks-2': pidsOfOwners(folder).webhooks ?? [],
    'gateway-2': second?.child.pid() === undefined ? [] : [second.child.pid() ?? 0],
  };
  const resident = residentByPid(Object.values(pids).flat());
  for (const [service, ofService] of Object.entries(pids)) {
    for (const pid of ofService) {
      const mb = resident.get(pid);
      if (mb !== undefined) memory.write({ service, pid, atMs: clockMs(), mb });
    }
  }
}
