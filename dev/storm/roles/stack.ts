// The stack under the storm: two replicas of each service, the second gateway beside it, and checks of their memory; for a
// storm on a cluster three nats-servers, and a proxy before the gateways.
import { join } from 'node:path';
import { startNatsCluster, type NatsCluster } from '../../engines/nats-cluster.ts';
import { startChild, type Child } from '../../process/child.ts';
import { openLedger as openPids, endLeftovers } from '../../process/ledger.ts';
import { withDescendants } from '../../process/family.ts';
import { sendSignal } from '../../process/identity.ts';
import { residentByPid } from '../../process/memory.ts';
import { findPort } from '../../process/port.ts';
import { openProxy } from '../../process/proxy.ts';
import { readFacts } from '../../stack/facts.ts';
import { startStack, type Stack } from '../../stack/index.ts';
import { waitUntilReady } from '../../stack/readiness.ts';
import { startReplica } from '../../stack/replica.ts';
import { mainOf, replicatedServices, type Service, type Settings } from '../../stack/services.ts';
import type { Target } from '../fault.ts';
import { clockMs, openLedgerFile } from '../ledger.ts';
import { readChosen, stackFolderOf, writeLive, writePlan, type Live } from '../plan.ts';
import { profiles, type Profile } from '../profile.ts';
import { folder, say, takeRole } from '../role.ts';

const running = new AsyncDisposableStack();
const memory = running.use(openLedgerFile(folder, 'memory'));
/** The processes beside those of the stack. */
const children: { target: Target; child: Child }[] = [];
let stack: Stack | undefined;
let cluster: NatsCluster | undefined;
let url = '';
/** How long a start may take: a failed start ends immediately, but a good start takes minutes at a load of 40. */
const readyWithinMs = 15 * 60_000;
const memoryEveryMs = 2_000;

function note(): void {
  const nodes = (cluster?.nodes ?? []).map(({ name, engine }) => {
    return { name, monitorUrl: engine.monitorUrl ?? '', pid: engine.pids()[0] };
  });
  writeLive(folder, { url, pids: pidsBeside(), nodes });
}

function pidsBeside(): Live['pids'] {
  const pids: Live['pids'] = {};
  for (const { target, child } of children) (pids[target] ??= []).push(...[child.pid() ?? []].flat());
  return pids;
}

function keep(target: Target, child: Child): void {
  children.push({ target, child: running.use(child) });
  note();
}

/** Leaves out log lines of services, whose complaints during faults are expected; their log files have them. */
const sayUnlessTrouble = (line: string): void => {
  if (/^[^\n]*\bdied \(/.test(line) || !/: (?:warn|error|fatal): /.test(line)) say(line);
};

async function start(): Promise<void> {
  const chosen = readChosen(folder);
  const rules: Profile = profiles[chosen.profile];
  note();
  const environment = environmentOfStorm();
  if (rules.cluster !== undefined) {
    const dataFolder = join(folder, 'nats');
    cluster = running.use(
      await startNatsCluster({ dataFolder, fresh: true, temporary: true, onChange: note }),
    );
    note();
    Object.assign(environment, { NATS_URL: cluster.url, STREAM_REPLICAS: '3' });
  }
  stack = running.use(
    await startStack({
      folder: stackFolderOf(folder),
      fresh: true,
      temporary: true,
      environment,
      mainOf: programOf,
      say: sayUnlessTrouble,
      readyWithinMs,
      // Replicas with proxies before the engines (`behindWays`) are started below.
      replicas: Object.fromEntries(replicatedServices.map((one) => [one, one in rules.behindWays ? 1 : 2])),
    }),
  );
  const { gateway, nats, mongodb, database, authSecret = '', logFolder } = stack;
  const pidsFile = join(folder, 'live.pids');
  await endLeftovers(pidsFile);
  const ledger = openPids(pidsFile);
  running.defer(() => ledger.close());
  /** Starts a replica beside those of the stack. */
  const startFurther = async (service: Service, number: number, own: Settings): Promise<Child> => {
    const { child } = await startReplica({
      environment,
      ledger,
      logFolder,
      stopWithinMs: 10_000,
      service,
      number,
      settings: { ...readFacts(stackFolderOf(folder))?.settings[service], ...own },
      main: programOf(service),
      onChange: note,
      onTrouble: () => undefined,
      onDeath: (name, how) => say(`${name} died (${how})`),
    });
    return child;
  };

  const port = String(await findPort());
  url = `http://127.0.0.1:${port}`;
  keep('gateway-2', await startFurther('gateway', 2, { GATEWAY_PORT: port }));
  await waitUntilReady(url, { withinMs: readyWithinMs });
  for (const service of replicatedServices)
    for (let nth = 0; nth < (rules.behindWays[service] ?? 0); nth += 1) {
      const own = {
        NATS_URL: await wayTo(`${service}-nats`, nats),
        MONGODB_URL: await wayTo(`${service}-mongodb`, mongodb),
      };
      keep(service, await startFurther(service, nth + 2, own));
    }
  // Frozen processes go on before anything stops: a frozen process can neither end nor answer.
  running.defer(async () => letEverythingGoOn());
  const timer = setInterval(lookAtMemory, memoryEveryMs);
  running.defer(() => clearInterval(timer));
  const gateways: [string, string] = [gateway, url];
  if (cluster !== undefined) gateways.fill(running.use(await openProxy(gateways)).url);
  const facts = { gateways, nats, mongodb, database, authSecret, stackPid: process.pid };
  writePlan(folder, { ...chosen, ...facts });
}

/** The main file of a service: its source, or the bundle that STORM_PROGRAMS (JSON by service) names for a test. */
function programOf(service: Service): string {
  const programs: Partial<Record<Service, string>> = JSON.parse(process.env['STORM_PROGRAMS'] || '{}');
  return programs[service] ?? mainOf(service);
}

/** Starts a proxy between a replica and an engine. A frozen proxy partitions them; a killed one breaks their connections. */
async function wayTo(target: Target, to: string): Promise<string> {
  const way = new URL(to);
  way.port = String(await findPort());
  const child = await startChild({
    name: `way to ${to}`,
    command: process.execPath,
    args: [join(import.meta.dirname, '../way.ts'), to, way.port],
    backoff: { firstMs: 100, maxMs: 100, settledAfterMs: 0 },
    readyWhen: /^open$/,
    stopSignal: 'SIGKILL',
    onStart: note,
    onDeath: note,
  });
  keep(target, child);
  return way.href;
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

/** Variables that a storm ignores: it has its own engines, and does not touch the engines of a system in use. */
const ofSystems = /^(?:MONGODB_URL|MONGODB_DATABASE|NATS_URL|NATS_MONITOR_URL|AUTH_JWKS_URL)$/;

/** How many deliveries may be in flight: all receivers share one process, and more deliveries would time out there. */
const inFlightMax = 192;

const environmentOfStorm = (): Record<string, string | undefined> => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !ofSystems.test(name))),
  GATEWAY_HOST: '127.0.0.1',
  GATEWAY_PORT: '0',
  WEBHOOK_IN_FLIGHT_MAX: String(inFlightMax),
});

function letEverythingGoOn(): void {
  const ofStack = Object.values(stack?.pids() ?? {}).flat();
  const ofNodes = (cluster?.servers ?? []).flatMap((server) => server.pids());
  for (const pid of withDescendants([...ofStack, ...Object.values(pidsBeside()).flat(), ...ofNodes]))
    sendSignal(pid, 'SIGCONT');
}

function lookAtMemory(): void {
  const all = [...Object.entries(stack?.pids() ?? {}), ...Object.entries(pidsBeside())];
  const services = all.filter(([name]) => !/(?:nats|mongodb)$/.test(name));
  const serviceOf = new Map(services.flatMap(([service, pids]) => pids.map((pid) => [pid, service])));
  for (const [pid, mb] of residentByPid([...serviceOf.keys()]))
    memory.write({ service: serviceOf.get(pid) ?? '', pid, atMs: clockMs(), mb });
}
