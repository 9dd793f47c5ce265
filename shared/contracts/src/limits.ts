// The limits of the contract; each name ends with its unit. The number of webhooks of an integration is a setting instead
// (webhooks, config.ts).

export const limits = {
  itemsPerPushMax: 500,
  /** The greatest length of a text in a pushed item, unless its field has a limit of its own. */
  textCharactersMax: 500,
  addressCharactersMax: 1_000,
  unitCharactersMax: 32,
  ddsNumberCharactersMax: 50,
  /** The greatest length of an `externalId`, also in a field that names another record. */
  identifierCharactersMax: 255,
  /** How many texts a list field may have: a listing reads a hundred records at a time, so no record may be huge. */
  textsMax: 100,
  pageDefault: 1,
  pageSizeDefault: 50,
  pageSizeMax: 100,
  /** How many records one listing may ask for by their ids. */
  idsListedMax: 100,
  /** The greatest size of a page of a listing with `details=true`. */
  detailsBytesMax: 4 * 1024 * 1024,
  bodyBytesDefault: 5 * 1024 * 1024,
  /** How deep arrays and objects in a body may be nested. A certification needs 4: body, array, item, array. */
  bodyDepthMax: 8,
  /**
   * How many opening brackets, commas and colons a body with items may have outside of strings: 410 for each of 500 items. An
   * item of 200 short fields has 402, an item with all fields and a hundred certifications some 130. These characters cost a
   * parser most of its time and memory.
   */
  bodyStructureMax: 205_000,
  /** How many opening brackets, commas and colons a body without items, such as a webhook, may have outside of strings. */
  otherBodyStructureMax: 10_000,
  deliveryDeadlineMs: 10_000,
  failuresBeforeDisabling: 10,
  runsKeptDays: 7,
  clientCharactersMax: 256,
  /** The longest time between two pushes that an expectation may have: 31 days. */
  expectedHoursMax: 744,
  runErrorsMax: 100,
  runErrorCharactersMax: 1_000,
  eventsKeptDays: 7,
  feedEventsMax: 500,
  feedEventsDefault: 100,
  /** How many bytes of the log a page of the feed reads at most, even if no event matches its filter. */
  feedBytesMax: 2 * 1024 * 1024,
  feedWaitSecondsMax: 25,
  /** How many callers of the feed may wait at one replica: in all, and of one integration. */
  feedWaitersMax: 1_000,
  feedWaitersPerIntegrationMax: 50,
  eventKindsMax: 100,
  urlCharactersMax: 2_048,
  webhookDescriptionCharactersMax: 200,
  webhookHeadersMax: 10,
  webhookHeaderBytesMax: 1_000,
  webhookHeaderNameCharactersMax: 100,
  webhookInFlightMax: 64,
  webhookInFlightDefault: 8,
  eventIdCharactersMax: 255,
  eventIdsReplayedMax: 100,
  /** How many bytes the replays of an integration may add to the log on one day (UTC). */
  replayedBytesPerDayMax: 256 * 1024 * 1024,
  /** The longest wait that a receiver can ask for with `Retry-After`. */
  retryAfterMsMax: 5 * 60 * 1_000,
  /** How many bytes of the receiver's answer to a failed attempt the attempt log keeps. */
  responseBodyBytesMax: 1_024,
  idempotencyKeyCharactersMax: 255,
  idempotencyKeyKeptMs: 24 * 60 * 60 * 1_000,
  gracePeriodSecondsMax: 7 * 24 * 60 * 60,
  gracePeriodSecondsDefault: 24 * 60 * 60,
} as const;

/** The delay before each of the four attempts of a delivery, from the failure of the previous attempt. */
export const attemptDelaysMs = [0, 1_000, 5_000, 30_000] as const;
