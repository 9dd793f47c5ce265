// Events to deliveries: whatever came since the last round is one batch, one look-up of the endpoints of all
// integrations in it, and one message for each event and endpoint. The ids are made of both, so that a batch that
// was half done when its replica died is done again without harm.
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import type { Endpoints } from './endpoints.ts';
import {
  deliveriesId,
  deliveriesSubject,
  firstSending,
  readEventHead,
  type Delivery,
  type Message,
} from './envelope.ts';
import type { Hands, InHand } from './hands.ts';
import type { Numbers } from './numbers.ts';
import { epochOf } from './subscription.ts';

export interface Fanout {
  /** For the consumer of the stream: while the promise that it returns is open, no further message is taken. */
  take: (message: StreamMessage) => Promise<void> | undefined;
  settled(): Promise<void>;
}

export interface FanoutOptions {
  endpoints: Pick<Endpoints, 'subscribersOf'>;
  bus: Pick<Bus, 'publishBatch'>;
  hands: Pick<Hands, 'take'>;
  numbers: Pick<Numbers, 'fanoutLag' | 'fannedOut'>;
  log: Log;
}

const batchEvents = 500;
const waitingEventsMax = 1_000;
/** Bounds what one batch of events makes in memory, however many endpoints there are. */
const publishMax = 1_000;
const retryMs = 1_000;

export function openFanout({ endpoints, bus, hands, numbers, log }: FanoutOptions): Fanout {
  let waiting: InHand[] = [];
  let working: Promise<void> | undefined;

  const fanOut = async (batch: readonly InHand[]): Promise<number> => {
    const events = batch.map(({ message }) => message);
    const integrations = new Set(events.map(integrationOf));
    const subscribers = await endpoints.subscribersOf([...integrations]);
    let count = 0;
    let messages: Message[] = [];
    const publish = async (): Promise<void> => {
      if (messages.length > 0) await bus.publishBatch(messages);
      count += messages.length;
      messages = [];
    };
    for (const event of events) {
      for (const delivery of deliveriesOf(event, subscribers.get(integrationOf(event)) ?? [])) {
        messages.push({
          subject: deliveriesSubject(delivery),
          id: deliveriesId(delivery),
          body: delivery.body,
        });
        if (messages.length >= publishMax) await publish();
      }
    }
    await publish();
    return count;
  };

  const work = async (): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    while (waiting.length > 0) {
      const batch = waiting.slice(0, batchEvents);
      try {
        const deliveries = await fanOut(batch);
        for (const inHand of batch) inHand.ack();
        numbers.fannedOut(batch.length, deliveries);
        const [oldest] = batch;
        if (oldest !== undefined) numbers.fanoutLag((Date.now() - oldest.message.storedAt.getTime()) / 1000);
      } catch (error) {
        log.warn({ err: error, events: batch.length }, 'events could not be fanned out, trying again');
        for (const inHand of batch) inHand.giveBack(retryMs);
      }
      waiting = waiting.slice(batch.length);
    }
  };

  return {
    take(message) {
      waiting.push(hands.take(message));
      working ??= work().finally(() => (working = undefined));
      return waiting.length >= waitingEventsMax ? working : undefined;
    },
    async settled() {
      // What is under way takes along what came meanwhile.
      await working;
    },
  };
}

/** `events.<integration>.<entity>.<action>` */
const integrationOf = ({ subject }: StreamMessage): string => subject.split('.')[1] ?? '';

type Subscribers = Awaited<ReturnType<Endpoints['subscribersOf']>> extends Map<string, infer T> ? T : never;

function* deliveriesOf(message: StreamMessage, subscribers: Subscribers): Generator<Delivery> {
  const head = subscribers.length === 0 ? undefined : readEventHead(message.body);
  if (head === undefined) return;
  const event = { ...head, sequence: message.sequence };
  for (const subscriber of subscribers) {
    const epoch = epochOf(subscriber, event);
    if (epoch === undefined) continue;
    yield {
      endpointId: subscriber._id,
      epoch,
      version: subscriber.version,
      eventId: message.id,
      sending: firstSending,
      attempts: 0,
      dueAtMs: 0,
      body: message.body,
    };
  }
}
