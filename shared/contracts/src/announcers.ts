// Which service announces events of which kinds. By `deploy/nats/nats.conf`, the login of a service may publish
// its kinds only: the subject of an event has the kind. The subject of an event batch has the announcer: webhooks checks the kinds
// of its events.

/** The kinds by announcing service; `*` stands for any action. */
export const announcedKinds = {
  catalog: ['supplier.*', 'product.*', 'sync.completed'],
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
