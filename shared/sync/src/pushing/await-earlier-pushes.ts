// Carries out a writing request after the earlier requests that name one of its records. Several items of one push with the same
// externalId: items/fold.ts. The queues of this replica: records/record-queues.ts. Over replicas: longest-waiting-first.ts.
import { Failure } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import { turnToRead } from '@integration-sync/runtime/pace';
import type { Engine, KindEngine } from '../engine.ts';
import { watermarkKey } from '../watermarks.ts';

/**
 * `idsOf` returns the externalIds of a body, not validated. A waiting push holds no permit of the semaphore, and parses
 * its body again after the wait, because a parsed body takes more memory than its bytes.
 */
export async function afterEarlierPushes<Body>(
  { semaphore, queues }: Pick<Engine, 'semaphore' | 'queues'>,
  { kind }: KindEngine,
  request: BusRequest,
  { read, idsOf }: { read: () => Body; idsOf: (body: Body) => readonly unknown[] },
  work: (body: Body) => Promise<BusReply>,
): Promise<BusReply> {
  const { integration } = request;
  refuseIfUnawaited(request);
  const readInTurn = async (): Promise<Body> => {
    await turnToRead(request.body.length);
    return read();
  };
  let body: Body | undefined = await readInTurn();
  const ids = idsOf(body).filter((id) => typeof id === 'string');
  using queued = queues.join(watermarkKey(integration, kind.plural), ids, () => request.isGivenUp);
  if (queued.turn !== undefined) {
    body = undefined;
    await semaphore.releaseUntil(integration, request.body.length, queued.turn);
    refuseIfUnawaited(request);
  }
  return await work(body ?? (await readInTurn()));
}

/** Refuses a push whose caller has timed out while the push waited for its turn. */
function refuseIfUnawaited({ deadline }: BusRequest): void {
  if (performance.now() <= deadline) return;
  throw new Failure(
    'timeout',
    'The push had to wait too long for its turn; none of its records was written.',
  );
}
