// The violations that a storm can find, by class. Each class is one promise that was not kept.

export const violationClasses = {
  overwritten:
    'an older push, answered 503/504 or hung up before, overwrote a newer one that was acknowledged after it began',
  lost: 'an acknowledged record is not there',
  stale: 'a value was shown, or kept, that an acknowledged push had replaced before',
  invented: 'a value was shown that no caller had pushed by then',
  fields: 'a record does not hold the fields that were pushed',
  'internal-id': 'an externalId has more than one internalId, or two share one',
  'created-twice': 'a record was created more than once, or never',
  answer: 'an answered push does not say what was done with each of its items',
  status: 'a valid push was answered something else than 200, 503 or 504',
  reference: 'a reference was accepted or refused wrongly',
  draft: 'a due-diligence statement is missing, double or different',
  run: 'a run is missing, double, or counts something else than its answer',
  total: 'a listing counts something else than it shows',
  pages: 'the pages of a listing repeat a record or leave one out',
  poll: 'a poll that follows X-Next-Since has missed a record',
  time: 'lastSyncedAt is older than the push that was acknowledged',
  'event-missing': 'a change was never announced',
  'event-extra': 'something was announced that did not happen',
  'event-twice': 'an event stands on the stream more than once',
  'event-order': 'events of a push stand on the stream in another order than it has',
  'event-wrong': 'an event does not say what changed',
  completed: 'sync.completed of a run is missing, or counts something else than the run',
  'delivery-missing': 'an event was never delivered to a receiver that was well',
  'delivery-twice': 'deliveries were repeated without a cause, or too often',
  undescribed: 'a message is not what the description of the messages says',
  'delivery-false': 'a delivery is not genuine, or is not the event that it names',
  roll: 'a push failed while an operator ended nodes or services in good order, one after the other',
  away: 'pushes failed for longer than they may after one node of the cluster had died',
  'event-time': 'an event is dated outside its run',
  feed: 'the feed leaves an event out, repeats one, or shows them in different orders',
  mirror: 'a mirror that follows changedSince has missed a change, or a change has a wrong time',
  change: 'an event was not delivered as the endpoint was when it occurred',
  registration: 'one Idempotency-Key registered two webhooks',
  'in-flight': 'an endpoint had more deliveries under way than its caller allows',
  drill: 'a drill counted for its endpoint, or left a trace',
  overdue: '`sync.overdue` is missing, false, late, or came more than once for a due time',
  key: 'a removed key still served, or a written one did not',
  erased: 'an erased record is still there, or was not announced once',
  'event-late':
    'an event came to the stream later than it may after its push, or after the stream had a leader again',
  'delivery-late':
    'a delivery came later than it may after its event, or after its streams had leaders again',
  'attempt-log': 'an attempt is not in the attempt log, or the log says something else than its receiver',
  schedule: 'tries of an event are not 1, 5 and 30 s apart',
  disabling: 'an endpoint is not disabled by its tenth failure in a row',
  floor: 'the service accepted, announced or delivered less than a storm requires',
  memory: 'a service holds more memory than it may',
  storm: 'the storm could not be carried out as planned',
} as const;

export type ViolationClass = keyof typeof violationClasses;

const isClass = (name: string): name is ViolationClass => Object.hasOwn(violationClasses, name);

export function classOf(name: string): ViolationClass {
  if (isClass(name)) return name;
  throw new RangeError(`there is no class of violations "${name}"`);
}

/** `timeline`: the lines of the ledger about the violation, oldest first. */
export type Report = (found: ViolationClass, what: string, timeline?: readonly string[]) => void;

interface Tally {
  count: number;
  examples: { what: string; timeline: readonly string[] }[];
}

const examplesKept = 5;

/** Counts all violations and keeps a few examples of each class. */
export function openTally(): { report: Report; tallies: ReadonlyMap<ViolationClass, Tally> } {
  const tallies = new Map<ViolationClass, Tally>();
  const report: Report = (found, what, timeline = []) => {
    const tally = tallies.get(found) ?? { count: 0, examples: [] };
    tally.count += 1;
    if (tally.examples.length < examplesKept) tally.examples.push({ what, timeline });
    tallies.set(found, tally);
  };
  return { tallies, report };
}
