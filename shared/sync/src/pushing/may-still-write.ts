// Whether a push may still write. The caller may have got an error or hung up, and may have pushed newer data since. So
// in these cases the replica asks the gateway, before a write, whether the caller still waits:
//
//   case                                                     why
//   ───────────────────────────────────────────────────────  ───────────────────────────────────────────────────────────
//   the push waited for its turn, or in a socket             the caller may have hung up and the gateway have died
//   the push has its stamp, and no promise of the gateway    a push that the caller sends after giving up gets a later
//   covers that moment                                       stamp
//   the push is about to overwrite a later push              the later push may be the caller's newer data
//   the push reads and writes once more                      the push in between may be the caller's newer data
//   the last confirmation is too old                         this process may have been frozen
//
// For half a second after it sent the request, the gateway promises not to answer with an error, and to tell the
// replicas if the caller hangs up (bus/request.ts). Until then, no replica asks. A write that is on its way when the
// caller gives up takes effect only on records that are as the push read them (record-writes.ts). Together these rules
// keep an older push from overwriting an acknowledged one.
import { Failure } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';

export type Permission = ReturnType<typeof openPermission>;

/** If this much is left of the half second that the gateway promised, the push came without delay and did not wait here. */
const promptLeftMs = 400;
const recentMs = 1_000;
/** How old the gateway's answer may be. It comes sooner than that, unless this process was frozen, which then asks again. */
const answeredWithinMs = 3_000;

export function openPermission(
  request: Pick<BusRequest, 'waitedForUntilMs' | 'isWaitedFor'>,
  now: () => number = () => performance.now(),
) {
  // While a late push was on its way, its gateway may have died, and then no replica hears that the caller hung up.
  const isPrompt = request.waitedForUntilMs - now() >= promptLeftMs;
  /** When this replica last asked the gateway and heard that the caller still waits. */
  let confirmedAtMs = -Infinity;

  const renew = async (): Promise<void> => {
    const askedAtMs = now();
    if (request.waitedForUntilMs < Infinity && !(await request.isWaitedFor()))
      throw new Failure(
        'timeout',
        'The caller no longer waits for this push, so the service writes no more of its records.',
      );
    confirmedAtMs = askedAtMs;
  };
  const isPromised = (): boolean => isPrompt && now() <= request.waitedForUntilMs;

  return {
    /** Throws if the caller no longer waits. Asks the gateway each time. */
    renew,
    /** Throws if the caller no longer waits. Asks the gateway unless its promise still holds. */
    async renewUnlessPromised(): Promise<void> {
      if (!isPromised()) await renew();
    },
    /** Throws if the caller no longer waits. Asks the gateway unless its promise holds or its last answer is recent. */
    async confirm(): Promise<void> {
      if (isPromised()) return;
      for (let allowedMs = recentMs; now() - confirmedAtMs > allowedMs; allowedMs = answeredWithinMs) {
        await renew();
      }
    },
  };
}
