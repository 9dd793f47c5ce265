// The kinds of events that each service announces. `deploy/nats/nats.conf` lets the NATS login of a service publish only subjects
// of its kinds. The subject of an event batch names the service but no kinds, so the service webhooks checks the kinds of the
// events in the batch.

/** The kinds of events that each service announces; `*` stands for any action. */
export const announcedKinds = {
  catalog: ['supplier.*', 'product.*', 'sync.completed', 'sync.overdue'],
  batches: ['batch.*', 'dds.*', 'sync.completed'],
  webhooks: ['webhook.*'],
} as const;

export type Announcer = keyof typeof announcedKinds;

const kindsByAnnouncer: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(announcedKinds));

export function mayAnnounce(announcer: string, kind: string): boolean {
  const [entity, action, ...more] = kind.split('.');
  if (action === undefined || more.length > 0) return false;
  const kinds = kindsByAnnouncer.get(announcer) ?? [];
  return kinds.includes(kind) || kinds.includes(`${entity}.*`);
}
