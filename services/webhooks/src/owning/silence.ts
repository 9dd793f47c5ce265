// After what silence the other replicas claim a replica's partitions. A replica that lacks processor time is silent for seconds,
// though it lives. Each takeover from a living replica gives that replica more time before the next takeover:
//
//   takeovers within 10 min   silence
//   ───────────────────────   ───────
//   none                      2.5 s
//   one                       10 s
//   two or more               20 s

/** Without takeovers. */
export const silenceMs = 2_500;
const silenceMsMax = 20_000;
const growth = 4;
/** After this time a takeover no longer counts. */
export const rememberedMs = 10 * 60_000;

/** The silence for a replica from which others have taken partitions so often within 10 min, while it lived. */
export const silenceMsAfter = (takeovers: number): number =>
  Math.min(silenceMs * growth ** takeovers, silenceMsMax);
