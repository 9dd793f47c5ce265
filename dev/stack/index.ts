// The door of the local stack: engines and the four services as processes of this machine. `npm start` is a
// screen around it; the system tests and the benchmarks use it as it is.
import { join, resolve } from 'node:path';
import { issueAccessToken, type AccessTokenOptions } from '../access-token.ts';
import type { Environment } from '../engines/environment.ts';
import { startEngines, type Engines } from '../engines/index.ts';
import { openProgress, type Progress } from '../engines/progress.ts';
import { sendSignal } from '../process/identity.ts';
import { endLeftovers, openLedger, type Ledger } from '../process/ledger.ts';
import { lockOwner, takeLock } from '../process/lock.ts';
import { findPort, isPortFree } from '../process/port.ts';
import { messageOf } from '../process/words.ts';
import { openBulletin, pidsOf, type Bulletin, type FixedFacts } from './bulletin.ts';
import { readFacts, removeFacts, type Pids } from './facts.ts';
import { StartFailure } from './failure.ts';
import { startFleet, type Fleet, type FleetOptions } from './fleet.ts';
import { openDamper, readLine } from './lines.ts';
import { waitUntilReady } from './readiness.ts';
import { openSecrets } from './secrets.ts';
import {
  mainOf,
  settingsOf,
  type Addresses,
  type Replicas,
  type Service,
  type Settings,
} from './services.ts';

export type { Service } from './services.ts';

export interface StackOptions {
  /** Data, logs, secrets and stack.json. Two stacks have two folders. */
  folder: string;
  replicas?: Replicas;
  /** The process's own unless given. GATEWAY_PORT 0 takes any free port, and keeps it. */
  environment?: Environment;
  say?: (line: string) => void;
  fresh?: boolean;
  /** Leave no data behind. */
  temporary?: boolean;
  /** Programs in place of the services', for tests of the stack itself. */
  mainOf?: (service: Service) => string;
  /** Gives up a start that is under way. */
  signal?: AbortSignal | undefined;
}

export interface Stack extends AsyncDisposable {
  readonly gateway: string;
  readonly nats: string;
  readonly mongodb: string;
  readonly database: string;
  /** Undefined when tokens are checked against AUTH_JWKS_URL. */
  readonly authSecret: string | undefined;
  readonly engines: Engines;
  readonly logFolder: string;
  token(options?: Partial<Omit<AccessTokenOptions, 'secret'>>): string;
  /** The processes that live now. */
  pids(): Pids;
  /** SIGKILL, or another signal, to one replica; 1 is the first. It comes back by itself, unless it is held. */
  kill(service: Service, replica?: number, signal?: NodeJS.Signals): Promise<void>;
  /** From now on a death of this replica is not mended, until it is resumed. */
  hold(service: Service, replica?: number): void;
  resume(service: Service, replica?: number): Promise<void>;
  /** Resolves once the gateway's /readyz answers 200. */
  ready(withinMs?: number): Promise<void>;
  /** Kills everything at once, for someone who does not want to wait for the good order. */
  abandon(): void;
}

const readyWithinMs = 60_000;
const sameWordsAgainMs = 10_000;

export async function startStack(options: StackOptions): Promise<Stack> {
  const { environment = process.env, signal, fresh = false, temporary = false, replicas = {} } = options;
  const folder = resolve(options.folder);
  const logFolder = join(folder, 'logs');
  await using starting = new AsyncDisposableStack();
  const progress = starting.use(openProgress(options.say ?? (() => undefined)));
  const ledger = await takeFolder(folder, progress, starting);
  const gatewayPort = await chooseGatewayPort(environment);
  const secrets = openSecrets(folder, environment);

  let bulletin: Bulletin | undefined;
  const onChange = (): void => bulletin?.changed();
  const engines = starting.use(
    await startEngines({
      dataFolder: join(folder, 'data'),
      logFolder,
      environment,
      fresh,
      temporary,
      signal,
      onChange,
      say: (line) => progress.say(line),
    }),
  );
  const addresses: Addresses = {
    nats: engines.nats.url,
    natsMonitor: engines.nats.monitorUrl ?? environment['NATS_MONITOR_URL'],
    mongodb: engines.mongodb.url,
    database: environment['MONGODB_DATABASE'] || 'integration_sync',
    gatewayPort,
  };
  const settings = settingsOf(addresses, secrets, environment);
  const watch = openWatch(progress);
  const fleet = starting.use(
    await startFleet({
      replicas,
      settings,
      mainOf: options.mainOf ?? mainOf,
      environment,
      logFolder,
      ledger,
      onChange,
      ...watch.listeners,
    }),
  );
  const gateway = `http://127.0.0.1:${gatewayPort}`;
  await Promise.race([watch.failed, untilReady(gateway, progress, signal)]);
  watch.started();

  const fixed = fixedFacts({ gateway, addresses, settings, authSecret: secrets.authSecret, environment });
  bulletin = starting.use(openBulletin(folder, fixed, fleet, engines));
  bulletin.changed();
  await bulletin.written();
  return openControls({ fixed, fleet, engines, logFolder, release: starting.move() });
}

/** The folder is ours from here on, and nothing of a stack that was killed runs any more. */
async function takeFolder(
  folder: string,
  progress: Progress,
  starting: AsyncDisposableStack,
): Promise<Ledger> {
  const path = join(folder, 'stack.lock');
  const lock = takeLock(path);
  if (lock === undefined) {
    const where = readFacts(folder)?.gateway ?? 'starting';
    throw new StartFailure(
      `A local stack is running already (process ${lockOwner(path) ?? '?'}, ${where}).\n` +
        'Stop it with Ctrl-C in its terminal, or use it: npm run service adds a replica to it.',
    );
  }
  starting.use(lock);
  removeFacts(folder);
  const ended = await endLeftovers(join(folder, 'services.json'));
  if (ended.length > 0) progress.say(`ended what a killed stack left behind: ${ended.join(', ')}`);
  const ledger = openLedger(join(folder, 'services.json'));
  starting.defer(() => ledger.close());
  return ledger;
}

/** Looked at before anything is started, which may take minutes. */
async function chooseGatewayPort(environment: Environment): Promise<number> {
  const text = environment['GATEWAY_PORT'] || '8080';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535))
    throw new StartFailure(`GATEWAY_PORT: expected a port from 0 to 65535, got "${text}".`);
  if (port === 0) return findPort();
  if (await isPortFree(port, environment['GATEWAY_HOST'] || '127.0.0.1')) return port;
  throw new StartFailure(
    `Port ${port} is taken. Stop what listens there, or take another one: GATEWAY_PORT=${port + 1} npm start`,
  );
}

/** Tells the terminal what goes wrong, and fails the start when a service dies before the stack was ever ready. */
function openWatch(progress: Progress) {
  const isNews = openDamper(sameWordsAgainMs);
  const failure = Promise.withResolvers<never>();
  // It may be settled before anybody waits for it.
  failure.promise.catch(() => undefined);
  let isStarted = false;
  const listeners: Pick<FleetOptions, 'onTrouble' | 'onDeath'> = {
    onTrouble(name, { text }) {
      const words = `${name}: ${text}`;
      if (isStarted && isNews(words)) progress.say(words);
    },
    onDeath(name, how, againInMs, lastLines) {
      if (isStarted) {
        const then = againInMs === undefined ? 'it is held' : `starting it again in ${againInMs} ms`;
        progress.say(`${name} died (${how}); ${then}`);
      } else failure.reject(new StartFailure(explainDeath(name, how, lastLines)));
    },
  };
  return {
    listeners,
    failed: failure.promise,
    started() {
      isStarted = true;
    },
  };
}

function explainDeath(name: string, how: string, lastLines: readonly string[]): string {
  const words = lastLines.map((line) => readLine(line)).filter(({ isTrouble }) => isTrouble);
  const told = words.slice(-12).map(({ text }) => text);
  return [`The service ${name} does not start (${how}).`, ...told].join('\n');
}

async function untilReady(
  gateway: string,
  progress: Progress,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    await progress.during('waiting until every service is ready', (note) =>
      waitUntilReady(gateway, { withinMs: readyWithinMs, signal, onWait: note }),
    );
  } catch (error) {
    signal?.throwIfAborted();
    throw new StartFailure(`The stack does not become ready: ${messageOf(error)}`);
  }
}

interface Circumstances {
  gateway: string;
  addresses: Addresses;
  settings: Record<Service, Settings>;
  authSecret: string | undefined;
  environment: Environment;
}

function fixedFacts({ gateway, addresses, settings, authSecret, environment }: Circumstances): FixedFacts {
  const { nats, natsMonitor, mongodb, database } = addresses;
  const { AUTH_ISSUER: authIssuer, AUTH_AUDIENCE: authAudience } = environment;
  return {
    gateway,
    nats,
    ...(natsMonitor === undefined ? {} : { natsMonitor }),
    mongodb,
    database,
    ...(authSecret === undefined ? {} : { authSecret }),
    ...(authIssuer ? { authIssuer } : {}),
    ...(authAudience ? { authAudience } : {}),
    settings,
  };
}

interface Running {
  fixed: FixedFacts;
  fleet: Fleet;
  engines: Engines;
  logFolder: string;
  release: AsyncDisposableStack;
}

function openControls({ fixed, fleet, engines, logFolder, release }: Running): Stack {
  const { gateway, nats, mongodb, database, authSecret, authIssuer, authAudience } = fixed;
  return {
    gateway,
    nats,
    mongodb,
    database,
    authSecret,
    engines,
    logFolder,
    token(options = {}) {
      if (authSecret === undefined)
        throw new Error('tokens are signed by whoever owns the keys at AUTH_JWKS_URL');
      const who = {
        ...(authIssuer ? { issuer: authIssuer } : {}),
        ...(authAudience ? { audience: authAudience } : {}),
      };
      return issueAccessToken({ integration: 'acme', ...who, ...options, secret: authSecret });
    },
    pids: () => pidsOf(fleet, engines),
    kill: (service, replica = 1, signal = 'SIGKILL') => fleet.find(service, replica).child.kill(signal),
    hold: (service, replica = 1) => fleet.find(service, replica).child.hold(),
    resume: (service, replica = 1) => fleet.find(service, replica).child.resume(),
    ready: (withinMs = 15_000) => waitUntilReady(gateway, { withinMs }),
    abandon() {
      for (const pid of Object.values(pidsOf(fleet, engines)).flat()) sendSignal(pid, 'SIGKILL');
    },
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}
