// An engine in a container, through testcontainers: starts the container, waits for its log line, keeps it running, and removes
// it at the end. Its data is in a named volume: files that a container writes into a folder of this machine belong to another
// user, and on a Mac they are slow.
import { setTimeout as wait } from 'node:timers/promises';
import { GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';
import { findPort, isListening } from '../process/port.ts';
import { messageOf } from '../process/words.ts';
import { labels } from './choice.ts';
import {
  findDocker,
  labelsOf,
  pullImage,
  removeAbandonedContainers,
  removeContainersOf,
  openVolume,
  removeAbandonedVolumes,
  removeVolume,
  type Client,
} from './docker.ts';
import { NotServed, type Addresses, type RunningEngine } from './engine.ts';
import type { RowContext } from './row.ts';

export interface ContainerSpec {
  image: string;
  /** The ports inside the container; clients connect to the first port. */
  ports: readonly number[];
  /** The folder in which the image keeps its data. */
  data: string;
  readyWhen: RegExp;
  command?: string[];
  files?: Record<string, string>;
  /** Called with the ports on this machine, in the same order. */
  addresses: (ports: readonly number[]) => Addresses;
}

export async function startContainer(context: RowContext, spec: ContainerSpec): Promise<RunningEngine> {
  // Turns off testcontainers' own container, which removes containers of dead processes: it needs one more image, and docker.ts
  // removes such containers by label.
  process.env['TESTCONTAINERS_RYUK_DISABLED'] = 'true';
  const client = await findDocker(context);
  const removed = await removeAbandonedContainers(client);
  if (removed.length > 0)
    context.cache.progress.say(`ended what a killed start left behind: ${removed.join(', ')}`);
  await removeAbandonedVolumes(client);
  await pullImage(context, client, spec.image);
  const hostPorts = await Promise.all(
    spec.ports.map((_, place) => findPort(place === 0 ? context.portWished : undefined)),
  );
  try {
    const volume = await openVolume(context, client);
    const started = await createContainer(context, { ...spec, hostPorts, volume });
    const [port] = hostPorts;
    if (port === undefined || !(await isListening(port)))
      throw new Error(`nothing answers at 127.0.0.1:${port}; is Docker on another machine?`);
    const kept = new KeptContainer(context, client, started);
    await kept.look();
    const forget = (): Promise<void> =>
      context.temporary ? removeVolume(client, volume) : Promise.resolve();
    return kept.engine(spec.addresses(hostPorts), `${spec.image} in Docker`, forget);
  } catch (error) {
    await removeContainersOf(context, client);
    const why = messageOf(error);
    throw new NotServed(`a container of ${spec.image} does not start: ${why}`, 'see `docker logs`', error);
  }
}

/**
 * testcontainers binds a port on every address of the machine; an engine without login must listen on
 * loopback alone.
 */
class LoopbackContainer extends GenericContainer {
  protected override async beforeContainerCreated(): Promise<void> {
    const bindings: Record<string, { HostPort: string }[]> = { ...this.hostConfig.PortBindings };
    this.hostConfig.PortBindings = Object.fromEntries(
      Object.entries(bindings).map(([key, ports]) => [
        key,
        ports.map((port) => ({ ...port, HostIp: '127.0.0.1' })),
      ]),
    );
  }
}

interface Container extends ContainerSpec {
  hostPorts: readonly number[];
  volume: string;
}

async function createContainer(
  context: RowContext,
  { image, command, files = {}, data, readyWhen, ports, hostPorts, volume }: Container,
): Promise<StartedTestContainer> {
  const unstarted = new LoopbackContainer(image)
    .withAutoCleanup(false)
    .withLabels(labelsOf(context))
    .withBindMounts([{ source: volume, target: data }])
    .withExposedPorts(...ports.map((container, place) => ({ container, host: hostPorts[place] ?? 0 })))
    .withCopyContentToContainer(Object.entries(files).map(([target, content]) => ({ target, content })))
    .withWaitStrategy(Wait.forLogMessage(readyWhen))
    .withStartupTimeout(60_000);
  if (command !== undefined) unstarted.withCommand(command);
  return unstarted.start();
}

const pauseMs = 250;
const dockerAwayMs = 1_000;

/** Starts the container again when it ends, as `process/child.ts` does for a process. */
class KeptContainer {
  readonly #context: RowContext;
  readonly #started: StartedTestContainer;
  readonly #container: ReturnType<Client['container']['getById']>;
  #state: 'kept' | 'held' | 'stopped' = 'kept';
  #pid: number | undefined;
  #watching: Promise<void>;

  constructor(context: RowContext, client: Client, started: StartedTestContainer) {
    this.#context = context;
    this.#started = started;
    this.#container = client.container.getById(started.getId());
    this.#watching = this.#watch();
  }

  engine(addresses: Addresses, description: string, forget: () => Promise<void>): RunningEngine {
    return {
      ...addresses,
      description,
      pids: () => (this.#pid === undefined ? [] : [this.#pid]),
      kill: () => this.#kill(),
      hold: () => void (this.#state = 'held'),
      resume: () => this.#resume(),
      [Symbol.asyncDispose]: async () => {
        await this.#stop();
        await forget();
      },
    };
  }

  async #watch(): Promise<void> {
    const { cache, name } = this.#context;
    while (this.#state === 'kept') {
      try {
        if (await this.look()) await this.#container.wait();
        this.#pid = undefined;
        if (this.#state !== 'kept') return;
        cache.progress.say(`${labels[name]}'s container ended; starting it again`);
        await wait(pauseMs);
        await this.#restart();
      } catch {
        // Docker itself may be away for a while; this loop asks again until Docker answers or the engine stops.
        await wait(dockerAwayMs);
      }
    }
  }

  async #restart(): Promise<void> {
    if (this.#state === 'kept') await this.#started.restart();
  }

  /** Whether the container runs; also notes its pid. */
  async look(): Promise<boolean> {
    const { State: state } = await this.#container.inspect();
    // On other systems Docker runs in a virtual machine, whose pids mean nothing here.
    const pid = state.Running && process.platform === 'linux' ? state.Pid : undefined;
    if (pid !== this.#pid) {
      this.#pid = pid;
      this.#context.onChange();
    }
    return state.Running;
  }

  async #kill(): Promise<void> {
    if (!(await this.look())) return;
    const ended = this.#container.wait();
    await this.#container.kill({ signal: 'SIGKILL' });
    await ended;
  }

  async #resume(): Promise<void> {
    if (this.#state !== 'held') return;
    if (await this.look()) {
      // The container never ended, so `#watch` still waits for its end.
      this.#state = 'kept';
      return;
    }
    await this.#watching;
    await this.#started.restart();
    await this.look();
    this.#state = 'kept';
    this.#watching = this.#watch();
  }

  async #stop(): Promise<void> {
    this.#state = 'stopped';
    try {
      await this.#started.stop({ remove: true, removeVolumes: true, timeout: 3_000 });
    } catch (error) {
      // A person may have removed the container, as by `docker rm --force`.
      if (!(error instanceof Error && 'statusCode' in error && error.statusCode === 404)) throw error;
    }
    await this.#watching;
  }
}
