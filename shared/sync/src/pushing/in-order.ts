// A request that writes, carried out after those that came before it and name one of its records.
import { Failure } from '@integration-sync/contracts';
import type { BusReply, BusRequest } from '@integration-sync/runtime/bus';
import type { Engine, KindEngine } from '../engine.ts';
import { watermarkKey } from '../watermarks.ts';

/**
 * `idsOf` says which externalIds a body has, as they came. A push that waits holds no place of the semaphore, and its body stays
 * bytes: the parsed body takes more memory.
 */
export async function inOrder<Body>(
  { semaphore, queues }: Pick<Engine, 'semaphore' | 'queues'>,
  { kind }: KindEngine,
  request: BusRequest,
  { read, idsOf }: { read: () => Body; idsOf: (body: Body) => readonly unknown[] },
  work: (body: Body) => Promise<BusReply>,
): Promise<BusReply> {
  const { integration } = request;
  refuseIfUnawaited(request);
  let body: Body | undefined = read();
  const ids = idsOf(body).filter((id) => typeof id === 'string');
  using queued = queues.join(watermarkKey(integration, kind.plural), ids, () => request.isGivenUp);
  if (queued.turn !== undefined) {
    body = undefined;
    await semaphore.releaseUntil(integration, request.body.length, queued.turn);
    refuseIfUnawaited(request);
  }
  return await work(body ?? read());
}

/** The push waited for its turn longer than its caller did for the answer. */
function refuseIfUnawaited({ deadline }: BusRequest): void {
  if (Date.now() <= deadline) return;
  throw new Failure('timeout', 'The push had to wait too long for its turn; nothing of it was written.');
}
