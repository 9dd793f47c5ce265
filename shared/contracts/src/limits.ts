// The numbers of the contract, units last.

export const limits = {
  itemsPerPushMax: 500,
  /** Of a text in an item, unless its field says more. */
  textCharactersMax: 500,
  /** Of a field that is a list of texts: a listing reads a hundred records at a time, so that none may be huge. */
  textsMax: 100,
  pageDefault: 1,
  pageSizeDefault: 50,
  pageSizeMax: 100,
  /** How many records one listing may ask for by their ids. */
  idsListedMax: 100,
  /** Of a page with `details=true`. */
  detailsBytesMax: 4 * 1024 * 1024,
  bodyBytesDefault: 5 * 1024 * 1024,
  deliveryDeadlineMs: 10_000,
  failuresBeforeDisabling: 10,
  runsKeptDays: 7,
  /** How many failed items a run keeps the error of. */
  runErrorsMax: 100,
  runErrorCharactersMax: 1_000,
  eventsKeptDays: 7,
  /** How many kinds of events one webhook may ask for. */
  eventKindsMax: 100,
  urlCharactersMax: 2_048,
  gracePeriodSecondsMax: 7 * 24 * 60 * 60,
  gracePeriodSecondsDefault: 24 * 60 * 60,
} as const;

/** The wait before each attempt of a delivery, counted from the failure of the one before. */
export const attemptDelaysMs = [0, 1_000, 5_000, 30_000] as const;
