// Whether a push may still write. The gateway may have answered its caller meanwhile that it failed, or the caller has hung
// up, and may have pushed something newer since; so the replica asks before it writes:
//
//   when                                                     why
//   ───────────────────────────────────────────────────────  ───────────────────────────────────────────────────────────
//   it waited for its turn, or in a socket                   its caller may have hung up, and its gateway have died
//   its place in the order of pushes is taken (its stamp),   what is acknowledged to a caller that gave up before bears
//   and the caller promised nothing for that moment          a later stamp, from here on
//   it is about to overwrite what a later push wrote         that one may be what the caller pushed instead
//   it reads and writes once more                            the same
//   the last yes is too old                                  the process may have stood still
//
// A caller promises not to fail for some time after it sent the request, and to say so where it hangs up all the same; then
// it need not be asked (bus/request.ts). What is on its way to the database when it gives up takes effect only on what was read
// before (record-writes.ts). Together these keep every acknowledged push from being overwritten by an older one.
import { Failure } from '@integration-sync/contracts';
import type { BusRequest } from '@integration-sync/runtime/bus';

export type Permission = ReturnType<typeof openPermission>;

/** So much of the promise is left to a push that came at once and found a place. */
const promptLeftMs = 400;
const recentMs = 1_000;
/** Longer than an answer may take: only a process that stood still while it asked asks again at once. */
const answeredWithinMs = 3_000;

export function openPermission(
  request: Pick<BusRequest, 'waitedForUntilMs' | 'isWaitedFor'>,
  now: () => number = () => performance.now(),
) {
  // While another one waited, its gateway may have died, and then no replica hears that its caller hung up.
  const isPrompt = request.waitedForUntilMs - now() >= promptLeftMs;
  /** When this replica last asked the gateway and heard that the caller still waits. */
  let confirmedAtMs = -Infinity;

  const renew = async (): Promise<void> => {
    const askedAtMs = now();
    if (request.waitedForUntilMs < Infinity && !(await request.isWaitedFor())) throw notWaitedFor();
    confirmedAtMs = askedAtMs;
  };
  const isPromised = (): boolean => isPrompt && now() <= request.waitedForUntilMs;

  return {
    /** As `confirm`, but asks in any case. */
    renew,
    /** As `confirm`, but no earlier yes suffices; only a promise does. */
    async renewUnlessPromised(): Promise<void> {
      if (!isPromised()) await renew();
    },
    /** Throws where the caller does not wait any more; asks it where its last yes is not recent. */
    async confirm(): Promise<void> {
      if (isPromised()) return;
      for (let allowedMs = recentMs; now() - confirmedAtMs > allowedMs; allowedMs = answeredWithinMs) {
        await renew();
      }
    },
  };
}

const notWaitedFor = (): Failure =>
  new Failure('timeout', 'The caller no longer waits for this push, so nothing more of it is written.');
