// Ways to break the service, each in one place of its source, with the class of violations that a storm must then report.
import { classOf, type ViolationClass } from '../check/violations.ts';
import type { Without } from '../run.ts';

export interface Breakage {
  name: string;
  says: string;
  /** The path of the broken file from the root of the repository. */
  file: string;
  /** The text to replace, which must occur in the file exactly once. */
  search: string;
  replace: string;
  found: ViolationClass;
  /** How long a storm must run to find the breakage. */
  seconds: number;
  without: Without;
}

/** Breakages as text: name, class, seconds, whether faults are left out; the effect; the file; its lines, as in a patch. */
const texts = `
push-504 floor 16
batches answers every push 504
shared/sync/src/items/push-body.ts
-  const body = readObject(bytes, { array: kind.plural, hide: hiderOf(kind) }, errors);
+  if (kind.plural === 'batches') throw new Failure('timeout', 'By this breakage, every push of batches fails.');
+  const body = readObject(bytes, { array: kind.plural, hide: hiderOf(kind) }, errors);

delivery-twice delivery-twice 40
one delivery in twenty is sent twice
services/webhooks/src/sending/send.ts
-    const durationMs = Math
+    if (Math.random() < 0.05) await attempt(known, sending, at, startedAt);
+    const durationMs = Math

events-reversed event-order 16
the events of a push are published in reverse, sync.completed first
shared/sync/src/announcing/announcement.ts
-  return [...ofRecords, ...ofDrafts, completed];
+  return [...ofRecords, ...ofDrafts, completed].toReversed();

undescribed undescribed 16
sync.completed gives the time of its end as a number
shared/sync/src/announcing/announcement.ts
-    completedAt: timestamp,
+    completedAt: Date.now() as unknown as string,

attempts-unlogged attempt-log 30
a fifth of the attempts is not in the attempt log
services/webhooks/src/delivering/attempt-report.ts
-    if (step !== undefined) attemptLog
+    if (step !== undefined && Math.random() > 0.2) attemptLog

endless-answers-taken attempt-log 40
an answer that never ends counts as a success
services/webhooks/src/sending/attempt-outcome.ts
-  if (broken !== undefined) return
+  if (broken === null) return

retry-soon schedule 16
the first retry comes after 0.1 s
shared/contracts/src/limits.ts
-attemptDelaysMs = [0, 1_000,
+attemptDelaysMs = [0, 100,

disabling-25 disabling 83 without faults
an endpoint is disabled after 25 failures
shared/contracts/src/limits.ts
-failuresBeforeDisabling: 10,
+failuresBeforeDisabling: 25,

events-early event-time 16
events are dated 3 s early
shared/sync/src/announcing/announcement.ts
-  const timestamp = announcement.completedAt.toISOString();
+  const timestamp = new Date(announcement.completedAt.getTime() - 3_000).toISOString();

attempts-alike attempt-log 16
the attempt log says 200 and 1 ms for everything
services/webhooks/src/delivering/attempt-log.ts
-  responseStatus: attempted.responseStatus,
-  durationMs: attempted.durationMs,
+  responseStatus: 200,
+  durationMs: 1,

feed-skips feed 16
the feed passes over an event at the end of each page
services/webhooks/src/feed/page.ts
-      return { ...page, next: { sequence, index } };
+      return { ...page, next: { sequence, index: index + 1 } };

changed-early mirror 16
changedAt of a changed record is an hour early
shared/sync/src/records/record-writes.ts
-      $max: { lastSyncedAt: at, changedAt: at },
+      $max: { lastSyncedAt: at, changedAt: new Date(at.getTime() - 3_600_000) },

walks-begin-late poll 25
a walk among many matches begins one record too late
shared/sync/src/listing/find-page.ts
-    const found = isBegin ? { begin, created }
+    const [first] = await documents.find({ integration, order: { $gt: begin } }).sort({ order: 1 }).limit(1).toArray();
+    const found = isBegin ? { begin: first?.order, created }

recovers-from-now delivery-missing 20
an endpoint that recovers misses what occurred while it was disabled
services/webhooks/src/endpoints/recovery.ts
-            since: held.recovery?.since ?? held.disabledAt ?? new Date(),
+            since: new Date(),

changes-late change 20
a caller's change of an endpoint holds after 30 s
services/webhooks/src/delivering/endpoint-changes.ts
-    await revisions.changed(integration);
-    bus.broadcast(endpointChangedSubject, _id, { [requestHeaders.integration]: integration });
+    const tell = () => bus.broadcast(endpointChangedSubject, _id, { [requestHeaders.integration]: integration });
+    setTimeout(() => void revisions.changed(integration).then(tell), 30_000);

in-flight-8 in-flight 20
an endpoint with inFlightMax 1 gets 8 deliveries at a time
services/webhooks/src/endpoints/endpoint.ts
-  inFlightMax ?? limits.webhookInFlightDefault;
+  Math.max(inFlightMax ?? 0, limits.webhookInFlightDefault);

keys-kept key 40
a removed key is good for as long as its gateway lives
services/gateway/src/clients/clients.ts
-      credentials = indexClients(parseClients(content), credentials);
+      const [former, present] = [credentials, indexClients(parseClients(content), credentials)];
+      const find = (secret, at) => { try { return present.find(secret, at); } catch { return former.find(secret, at); } };
+      credentials = { ...present, find };

archived-in-silence event-wrong 30
archiving announces nothing
shared/sync/src/announcing/announcement.ts
-    if (action === 'archive') return tell(
+    if (action === 'archive') return [];
+    if (action === undefined) return tell(

erased-in-part erased 30
erasing keeps the fields of a record
shared/sync/src/items/archive-erase.ts
-  new Map([...Object.keys(before).map((name) => [name, undefined] as const), [statusField, 'ERASED']]);
+  new Map([[statusField, 'ERASED']]);

replays-from-now change 20
a replay begins now, whatever its caller asks for
services/webhooks/src/api/replay.ts
-    const span = { since: instantOf(since),
+    const span = { since: since === '' ? instantOf(since) : new Date(),

registered-thrice registration 16
an Idempotency-Key is ignored
services/webhooks/src/api/register.ts
-    if (key === undefined) {
+    if (key !== '') {

deleted-and-sent change 20
an endpoint that was deleted gets its events until a replica looks it up
services/webhooks/src/api/endpoints.ts
-    await changed({ _id: id, integration });
+    if (id === '') await changed({ _id: id, integration });

rotated-in-vain change 20
a rotation gives its caller a secret that signs nothing
services/webhooks/src/api/rotate-secret.ts
-        $set: { secret: vault.seal(secret, endpoint._id), previousSecrets, isRotated: true },
+        $set: { secret: endpoint.secret, previousSecrets, isRotated: true },

numbers-stay draft 16
a statement keeps the first reference number of its batch
services/batches/src/dds.ts
-      referenceNumber: textOf(fields, 'ddsReferenceNumber'),
+      referenceNumber: before?.referenceNumber ?? textOf(fields, 'ddsReferenceNumber'),

redrafted-in-silence draft 16
a statement that changes is not announced
shared/sync/src/announcing/announcement.ts
-    const { entry, made, changed, isOverwritten = false } = draft;
+    const [{ entry, made, isOverwritten = false }, changed] = [draft, []];

late-pushes-missed overdue 16
a push before the due time does not count once that time has passed
services/catalog/src/expectations/checks.ts
-    if (!inTime.isNewer) return missed(last, inTime, at);
+    return missed(last, inTime, at);

drill-counts drill 16
a drill is counted as a failure of its endpoint
services/webhooks/src/endpoints/endpoint-store.ts
-{ $set: { drilledAt: at } }
+{ $set: { drilledAt: at, failures: 1 } }
`;

/** The classes of violations that a storm finds only if it waits for the last deliveries. */
const ofLastDeliveries = new Set(['delivery-missing', 'change']);

export const breakages: readonly Breakage[] = texts.trim().split('\n\n').map(readBreakage);

function readBreakage(text: string): Breakage {
  const [head = '', says = '', file = '', ...lines] = text.split('\n');
  const [name = '', found = '', seconds] = head.split(' ');
  const of = (sign: string): string =>
    lines.flatMap((line) => (line.startsWith(sign) ? line.slice(1) : [])).join('\n');
  const without: Without = [
    ...(head.endsWith('without faults') ? ['faults' as const] : []),
    ...(ofLastDeliveries.has(found) ? [] : ['last deliveries' as const]),
  ];
  const [search, replace] = [of('-'), of('+')];
  return { name, says, file, search, replace, found: classOf(found), seconds: Number(seconds), without };
}

/** The text of the file with the breakage in it. */
export function brokenText({ name, file, search, replace }: Breakage, text: string): string {
  const [before, after, ...others] = text.split(search);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${name}: ${file} must have this line exactly once: ${search.trim()}`);
  return `${before}${replace}${after}`;
}
