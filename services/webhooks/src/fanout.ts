// Events to deliveries: whatever came since the last round is one batch, one look-up for all integrations in it,
// and parcels of what goes where. Their ids are made of what is in them, so that a batch that
// was half done when its replica died is done again without harm.
import type { Bus, StreamMessage } from '@integration-sync/runtime/bus';
import type { Log } from '@integration-sync/runtime/log';
import { consign } from './consign.ts';
import { firstSending, packParcels, type Message } from './envelope.ts';
import { openGathering } from './gathering.ts';
import type { Hands, InHand } from './hands.ts';
import type { Numbers } from './numbers.ts';
import { readOccurred, type Occurred } from './occurrence.ts';
import type { Subscribers } from './subscribers.ts';

export interface Fanout {
  /** For the consumer of the stream, which bounds how many events are under way. */
  take: (message: StreamMessage) => void;
  settled(): Promise<void>;
}

export interface FanoutOptions {
  subscribers: Pick<Subscribers, 'of'>;
  bus: Pick<Bus, 'publishBatch'>;
  hands: Pick<Hands, 'take'>;
  numbers: Pick<Numbers, 'fanoutLag' | 'fannedOut'>;
  log: Log;
}

const batchEvents = 500;
/** Bounds what one batch of events makes in memory, however many endpoints there are. */
const publishMessagesMax = 500;
const publishBytesMax = 4 * 1024 * 1024;
const retryMs = 1_000;

export function openFanout({ subscribers, bus, hands, numbers, log }: FanoutOptions): Fanout {
  /** Says how many deliveries it made. */
  const fanOut = async (batch: readonly InHand[]): Promise<number> => {
    const byIntegration = groupMessages(batch);
    const found = await subscribers.of([...byIntegration.keys()]);
    let count = 0;
    let messages: Message[] = [];
    let bytes = 0;
    for (const [integration, subscribed] of found) {
      // Where nobody listens, nothing is even read.
      const events = subscribed.length === 0 ? [] : readEvents(byIntegration.get(integration) ?? []);
      for (const { to, occurrences } of consign(subscribed, events)) {
        count += to.length * occurrences.length;
        const consignment = { integration, sending: firstSending, to, events: occurrences };
        for (const parcel of packParcels(consignment)) {
          messages.push(parcel);
          bytes += parcel.body.length;
          if (messages.length < publishMessagesMax && bytes < publishBytesMax) continue;
          await bus.publishBatch(messages);
          messages = [];
          bytes = 0;
        }
      }
    }
    if (messages.length > 0) await bus.publishBatch(messages);
    return count;
  };

  const work = async (batch: readonly InHand[]): Promise<void> => {
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
  };
  const gathering = openGathering<InHand>({
    max: batchEvents,
    // What arrives in one go is fanned out in one go.
    pause: () => new Promise((resolve) => setImmediate(resolve)),
    work,
  });

  return {
    take: (message) => gathering.add(hands.take(message)),
    settled: () => gathering.settled(),
  };
}

function groupMessages(batch: readonly InHand[]): Map<string, StreamMessage[]> {
  const byIntegration = new Map<string, StreamMessage[]>();
  for (const { message } of batch) {
    // `events.<integration>.<entity>.<action>`
    const integration = message.subject.split('.', 2)[1] ?? '';
    const others = byIntegration.get(integration);
    if (others === undefined) byIntegration.set(integration, [message]);
    else others.push(message);
  }
  return byIntegration;
}

const readEvents = (messages: readonly StreamMessage[]): Occurred[] =>
  messages.flatMap((message) => readOccurred(message) ?? []);
