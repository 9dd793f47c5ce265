// After what silence the other replicas claim a replica's partitions. A replica that lacks processor time is silent for seconds,
// though it lives. Each takeover repeats deliveries, so it has more time for 10 min after others took partitions from it.

/** Without such a takeover. */
export const silenceMs = 2_500;
const silenceMsAfterTakeover = 20_000;
/** After this time a takeover no longer counts. */
export const rememberedMs = 10 * 60_000;

/** By how often others took partitions from the replica within 10 min, while it lived. */
export const silenceMsAfter = (takeovers: number): number =>
  takeovers === 0 ? silenceMs : silenceMsAfterTakeover;
