// Exports of the local stack: engines and the four services as processes of this machine. `npm start` adds the output for a
// person; the system tests and the benchmarks use the stack itself.
import { join, resolve } from 'node:path';
import { buildConsole } from '../console.ts';
import { issueAccessToken, type AccessTokenOptions } from '../access-token.ts';
import type { Environment } from '../engines/environment.ts';
import { startEngines, type Engines } from '../engines/index.ts';
import { openProgress, type Progress } from '../engines/progress.ts';
import { sendSignal } from '../process/identity.ts';
import { messageOf } from '../process/words.ts';
import { metricsOf, openFactsFile, pidsOf, type FactsFile, type FixedFacts } from './facts-file.ts';
import { checkSettings } from './configs.ts';
import type { Pids } from './facts.ts';
import { StartFailure } from './failure.ts';
import { startFleet, type Fleet } from './fleet.ts';
import { chooseGatewayPort, gatewayUrl, takeFolder } from './folder.ts';
import { openKey } from './key.ts';
import { waitUntilReady } from './readiness.ts';
import { openSecrets } from './secrets.ts';
import {
  consoleOf,
  databaseOf,
  mainOf,
  settingsOf,
  type Addresses,
  type Replicas,
  type Service,
} from './services.ts';
import { openWatch } from './watch.ts';

export type { Service } from './services.ts';

export interface StackOptions {
  /** The folder of data, logs, secrets and stack.json; each stack has its own. */
  folder: string;
  replicas?: Replicas;
  /** The environment of the stack; the environment of this process unless given. GATEWAY_PORT 0 takes a free port and keeps it. */
  environment?: Environment;
  say?: (line: string) => void;
  fresh?: boolean;
  /** Whether a stop removes the data of the stack. */
  temporary?: boolean;
  /** By service, the program to run in its place, for tests of the stack itself. */
  mainOf?: (service: Service) => string;
  /** How long the start may take; a minute unless given. */
  readyWithinMs?: number;
  /** Aborts a start that is under way. */
  signal?: AbortSignal | undefined;
}

export interface Stack extends AsyncDisposable {
  readonly gateway: string;
  readonly nats: string;
  readonly mongodb: string;
  readonly database: string;
  /** The secret that signs tokens; undefined when another issuer signs them. */
  readonly authSecret: string | undefined;
  /** The API key of the client "acme"; undefined where the stack did not make its clients, or the client was removed. */
  readonly key: string | undefined;
  /** The address of the console; undefined where the console is off. */
  readonly console: string | undefined;
  readonly engines: Engines;
  readonly logFolder: string;
  token(options?: Partial<Omit<AccessTokenOptions, 'secret'>>): string;
  /** The running processes of the stack. */
  pids(): Pids;
  /** Where each replica's Prometheus metrics are. */
  metrics(): Record<string, string[]>;
  /** Sends SIGKILL, or another signal, to one replica; 1 is the first. The stack restarts the replica, unless it is held. */
  kill(service: Service, replica?: number, signal?: NodeJS.Signals): Promise<void>;
  /** From now on a dead replica is not restarted until it is resumed. */
  hold(service: Service, replica?: number): void;
  resume(service: Service, replica?: number): Promise<void>;
  /** Stops all replicas of the service in good order, and starts them again. */
  restart(service: Service): Promise<void>;
  /** Resolves once the gateway's /readyz answers 200. */
  ready(withinMs?: number): Promise<void>;
  /** Kills all processes of the stack immediately, for a person who does not want to wait for an orderly stop. */
  abandon(): void;
}

const readyWithinMsDefault = 60_000;

export async function startStack(options: StackOptions): Promise<Stack> {
  const { environment = process.env, signal, fresh = false, temporary = false, replicas = {} } = options;
  const folder = resolve(options.folder);
  const logFolder = join(folder, 'logs');
  await using starting = new AsyncDisposableStack();
  const progress = starting.use(openProgress(options.say ?? (() => undefined)));
  const ledger = await takeFolder(folder, (line) => progress.say(line), starting);
  const { clientsFile, key } = openKey(folder, environment);
  const secrets = { ...openSecrets(folder, environment), clientsFile };
  checkSettings(environment, secrets);
  const gatewayPort = await chooseGatewayPort(environment);

  let factsFile: FactsFile | undefined;
  const shared = { environment, logFolder, onChange: (): void => factsFile?.changed() };
  const say = (line: string): void => progress.say(line);
  const dataFolder = join(folder, 'data');
  const engines = starting.use(await startEngines({ ...shared, dataFolder, fresh, temporary, signal, say }));
  const addresses: Addresses = {
    nats: engines.nats.url,
    natsMonitor: engines.nats.monitorUrl ?? environment['NATS_MONITOR_URL'],
    mongodb: engines.mongodb.url,
    database: databaseOf(environment),
    gatewayPort,
  };
  const settings = settingsOf(addresses, secrets, environment);
  if (consoleOf(environment) === 'on') await buildConsole();
  const watch = openWatch(progress);
  const programs = { replicas, settings, mainOf: options.mainOf ?? mainOf };
  const fleet = starting.use(await startFleet({ ...shared, ...programs, ...watch.listeners, ledger }));
  const gateway = gatewayUrl(environment, gatewayPort);
  const { readyWithinMs = readyWithinMsDefault } = options;
  await untilReady(gateway, { progress, readyWithinMs }, [
    watch.failed,
    ...(signal === undefined ? [] : [signal]),
  ]);
  watch.started();

  const { gatewayPort: _port, ...engineAddresses } = addresses;
  const fixed: FixedFacts = {
    gateway,
    ...engineAddresses,
    authSecret: secrets.authSecret,
    authIssuer: environment['AUTH_ISSUER'] || undefined,
    authAudience: environment['AUTH_AUDIENCE'] || undefined,
    settings,
  };
  factsFile = starting.use(openFactsFile(folder, fixed, fleet, engines));
  return openControls({ fixed, key, fleet, engines, logFolder, release: starting.move() });
}

async function untilReady(
  gateway: string,
  { progress, readyWithinMs: withinMs }: { progress: Progress; readyWithinMs: number },
  ends: readonly AbortSignal[],
): Promise<void> {
  const signal = AbortSignal.any([...ends]);
  try {
    await progress.during('waiting until every service is ready', (note) =>
      waitUntilReady(gateway, { withinMs, signal, onWait: note }),
    );
  } catch (error) {
    // If the start was aborted, throws the reason and not `error`: a service died, or the caller aborted the start.
    signal.throwIfAborted();
    throw new StartFailure(`The stack does not become ready: ${messageOf(error)}`);
  }
}

interface Running {
  fixed: FixedFacts;
  key: string | undefined;
  fleet: Fleet;
  engines: Engines;
  logFolder: string;
  release: AsyncDisposableStack;
}

function openControls({ fixed, key, fleet, engines, logFolder, release }: Running): Stack {
  const { gateway, nats, mongodb, database, authSecret, authIssuer, authAudience, settings } = fixed;
  const token: Stack['token'] = (options = {}) => {
    if (authSecret === undefined)
      throw new Error('the stack has no secret to sign tokens with: another issuer signs tokens');
    const who = { integration: 'acme', issuer: authIssuer, audience: authAudience };
    return issueAccessToken({ ...who, ...options, secret: authSecret });
  };
  const hasConsole = settings.gateway?.['CONSOLE'] === 'on';
  return {
    gateway,
    nats,
    mongodb,
    database,
    authSecret,
    key,
    console: hasConsole ? `${gateway}/console` : undefined,
    engines,
    logFolder,
    token,
    pids: () => pidsOf(fleet, engines),
    metrics: () => metricsOf(fleet),
    kill: (service, replica = 1, signal = 'SIGKILL') => fleet.find(service, replica).child.kill(signal),
    hold: (service, replica = 1) => fleet.find(service, replica).child.hold(),
    resume: (service, replica = 1) => fleet.find(service, replica).child.resume(),
    async restart(service) {
      if (service === 'gateway' && hasConsole) await buildConsole();
      await fleet.restart(service);
    },
    ready: (withinMs = 15_000) => waitUntilReady(gateway, { withinMs }),
    abandon() {
      for (const pid of Object.values(pidsOf(fleet, engines)).flat()) sendSignal(pid, 'SIGKILL');
    },
    [Symbol.asyncDispose]: () => release.disposeAsync(),
  };
}
