// All replicas of all services that this stack runs.
import type { Child } from '../process/child.ts';
import { stopInTurn } from '../process/in-turn.ts';
import type { Ledger } from '../process/ledger.ts';
import type { LogLine } from './lines.ts';
import { startReplica, type Replica } from './replica.ts';
import { serviceNames, type Replicas, type Service, type Settings } from './services.ts';

export interface FleetOptions {
  replicas: Replicas;
  settings: Record<Service, Settings>;
  mainOf: (service: Service) => string;
  environment: NodeJS.ProcessEnv;
  logFolder: string;
  ledger: Ledger;
  onTrouble: (name: string, line: LogLine) => void;
  onChange: () => void;
  onDeath: (name: string, how: string, againInMs: number | undefined, lastLines: readonly string[]) => void;
}

export interface Fleet extends AsyncDisposable {
  replicas(): readonly Replica[];
  find(service: Service, number: number): Replica;
  /** Restarts all replicas of a service concurrently, with the present content of their source files. */
  restart(service: Service): Promise<void>;
}

// A stopping gateway cuts off its remaining requests after 9 s. The other services stop once the gateway has ended,
// or 6 s after its signal, and finish the work that they have. Together with the 4 s of the engines, the stack
// stops within 15 s.
const gatewayStopMs = 10_000;
const headStartMs = 6_000;
const othersStopMs = 5_000;

export async function startFleet({
  replicas: counts,
  settings,
  mainOf,
  ...shared
}: FleetOptions): Promise<Fleet> {
  const replicas: Replica[] = [];
  const stopAll = async (): Promise<void> => {
    const groups = [replicas.filter(isGateway), replicas.filter((replica) => !isGateway(replica))];
    await stopInTurn(
      groups.map((group) => () => Promise.all(group.map(({ child }) => child.stop()))),
      headStartMs,
    );
  };
  await using starting = new AsyncDisposableStack();
  starting.defer(stopAll);
  const starts = serviceNames.flatMap((service) => {
    const count = service === 'gateway' ? 1 : (counts[service] ?? 1);
    const stopWithinMs = service === 'gateway' ? gatewayStopMs : othersStopMs;
    return Array.from({ length: count }, async (_, place) => {
      const number = place + 1;
      replicas.push(
        await startReplica({
          ...shared,
          service,
          number,
          main: mainOf(service),
          settings: settings[service],
          stopWithinMs,
        }),
      );
    });
  });
  await Promise.all(starts);
  const running = starting.move();
  return {
    replicas: () => replicas,
    find(service, number) {
      const replica = replicas.filter((one) => one.service === service)[number - 1];
      if (replica === undefined) throw new RangeError(`there is no replica ${number} of ${service}`);
      return replica;
    },
    async restart(service) {
      const ofService = replicas.filter((one) => one.service === service);
      await Promise.all(ofService.map(({ child }) => restart(child)));
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

async function restart(child: Child): Promise<void> {
  child.hold();
  await child.kill('SIGTERM');
  await child.resume();
}

const isGateway = ({ service }: Replica): boolean => service === 'gateway';
