// Everything between the event stream and the receivers, put together:
//
//   EVENTS ──▶ fan-out ──▶ DELIVERIES ──▶ intake ──▶ lanes ──▶ courier ──▶ receiver
//                                            │                   │
//                                            ▼                   ▼ a failure
//                                          HELD ◀───────────────────
//                                            │
//                                            └──▶ keeper ──▶ lanes ──▶ courier ──▶ receiver
import { eventsStream } from '@integration-sync/contracts';
import type { Broadcast, Bus } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Metrics } from '@integration-sync/runtime/metrics';
import { openAnnouncer, type Announcer } from './announcer.ts';
import { openAttemptLog, type AttemptLog } from './attemptlog.ts';
import { openCourier } from './courier.ts';
import { openDirectory, type Directory } from './directory.ts';
import type { Endpoints } from './endpoints.ts';
import { openFanout } from './fanout.ts';
import { openHands } from './hands.ts';
import { openHeld, type Held } from './held.ts';
import { openIntake } from './intake.ts';
import { openKeepers } from './keepers.ts';
import { openLanes } from './lanes.ts';
import { openLedger } from './ledger.ts';
import { openNumbers, type Numbers } from './numbers.ts';
import { openPersistence } from './persistence.ts';
import { openReport } from './report.ts';
import { openRoll } from './roll.ts';
import type { Send } from './sender.ts';
import { openShelf } from './shelf.ts';
import type { Subscribers } from './subscribers.ts';
import { deliverConsumer, deliveriesStream, fanoutConsumer, heldStream } from './streams.ts';
import { openTurns } from './turns.ts';
import type { Vault } from './vault.ts';

export interface DispatchOptions {
  bus: Bus;
  endpoints: Endpoints;
  subscribers: Subscribers;
  vault: Vault;
  send: Send;
  /** Fires when what is still in flight is given up. */
  signal: AbortSignal;
  inFlightMax: number;
  metrics: Pick<Metrics, 'registry'>;
  log: Log;
  /** Makes streams and consumers again, should the server have lost them. */
  ensure: () => Promise<void>;
}

export interface Dispatch extends AsyncDisposable {
  directory: Directory;
  held: Held;
  attemptLog: AttemptLog;
  announcer: Announcer;
  numbers: Numbers;
  /** The endpoint has changed: said to this replica and all others. */
  tellChanged: (endpointId: string) => void;
}

const changedSubject = 'webhooks.endpoint.changed';
const eventsAhead = 500;
/** Parcels that are sent ahead. Until they are taken nobody says that they are in hand, so they must not wait long. */
const parcelsAhead = { min: 2, max: 8, perInFlight: 1 / 128 };
/** What a replica takes and cannot begin with is kept from the others. */
const waitingPerInFlight = 2;
const waitingMax = 1_000;
/** What is done about failing endpoints, before it is due: healthy ones must not feel it. */
const failureTurns = { max: 4, patienceMs: 500 };
const sweepMs = 500;

export function startDispatch(options: DispatchOptions): Dispatch {
  const { bus, endpoints, send, inFlightMax, log } = options;
  const closing = new AsyncDisposableStack();

  const roll = closing.use(openRoll(bus));
  const attemptLog = closing.use(openAttemptLog(bus, log, roll.replica));
  const held = openHeld(bus);
  const directory = openDirectory(endpoints, options.vault);
  const lanes = closing.use(
    openLanes({ inFlightMax, waitingMax: Math.min(inFlightMax * waitingPerInFlight, waitingMax) }),
  );
  const hands = closing.use(openHands());
  const numbers = openNumbers(options.metrics.registry, {
    inFlight: () => lanes.inFlight,
    waiting: () => lanes.waiting,
    lanes: () => lanes.open,
    keepers: () => keepers.count,
    disabled: () => endpoints.countDisabled(),
    held: async () => (await bus.streamFacts(heldStream)).messages,
  });
  const announcer = openAnnouncer(endpoints, bus, log);
  const tellChanged = (endpointId: string): void => {
    directory.forget(endpointId);
    keepers.wake(endpointId);
    bus.broadcast(changedSubject, endpointId, { replica: roll.replica });
  };

  const inTurn = openTurns(failureTurns);
  const ledger = openLedger({ endpoints, inTurn, tellChanged, announce: announcer.announce, numbers });
  const report = openReport(log, attemptLog, numbers);
  const persist = openPersistence(log, options.signal);
  const deliver = openCourier({ send, directory, ledger, held, report, persist });
  const keepers = openKeepers({ endpoints, held, directory, lanes, deliver, roll, tellChanged, inTurn, log });
  const stopping = new AbortController();
  const persistUntilStop = openPersistence(log, stopping.signal);
  const shelf = openShelf({
    held,
    keepers,
    numbers,
    persist: persistUntilStop,
    signal: stopping.signal,
    log,
  });
  const onMessage = openIntake({
    directory,
    lanes,
    hands,
    shelf,
    keepers,
    deliver,
    numbers,
    persist: persistUntilStop,
    log,
  });
  const fanout = openFanout({ subscribers: options.subscribers, bus, hands, numbers, log });

  const onChanged = ({ body, headers }: Broadcast): void => {
    if (headers.get('replica') === roll.replica) return;
    const id = Buffer.from(body).toString();
    directory.forget(id);
    keepers.wake(id);
  };
  const onAnyChanged = (): void => {
    directory.forgetAll();
    keepers.wakeAll();
  };
  closing.use(bus.listen(changedSubject, onChanged, onAnyChanged));
  // From here on upwards it stops: nothing more is taken; what was taken is finished; the rest is handed back.
  closing.defer(() => hands.giveBackAll());
  closing.defer(() => shelf.settled());
  closing.defer(() => announcer.settled());
  closing.defer(async () => void (await Promise.all([keepers.close(), lanes.close()])));
  closing.defer(() => fanout.settled());
  closing.use(sweeping([keepers.sweep, announcer.sweep], log));
  const { ensure } = options;
  const { min, max, perInFlight } = parcelsAhead;
  const ahead = Math.max(min, Math.min(max, Math.floor(inFlightMax * perInFlight)));
  closing.use(
    bus.consume(eventsStream, fanoutConsumer.name, { ahead: eventsAhead, onMessage: fanout.take, ensure }),
  );
  closing.use(bus.consume(deliveriesStream, deliverConsumer.name, { ahead, onMessage, ensure }));
  // First of all: a reader may wait for what would be tried for as long as the process lives.
  closing.defer(() => stopping.abort(new Error('the process stops')));

  return {
    directory,
    held,
    attemptLog,
    announcer,
    numbers,
    tellChanged,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

/** Looks after what dead replicas left. One round at a time. */
function sweeping(sweeps: readonly (() => Promise<void>)[], log: Log): AsyncDisposable {
  let round = Promise.resolve();
  let busy = false;
  const sweep = async (): Promise<void> => {
    try {
      for (const one of sweeps) await one();
    } catch (error) {
      log.debug({ err: error }, 'sweeping failed, trying again');
    }
    busy = false;
  };
  const timer = setInterval(() => {
    if (busy) return;
    busy = true;
    round = sweep();
  }, sweepMs);
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await round;
    },
  };
}
