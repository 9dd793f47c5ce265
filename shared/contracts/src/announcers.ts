// Which service announces events of which kinds. `deploy/nats/nats.conf` holds the login of each service to its kinds: the
// subject of an event has its kind, and the subject of an event batch has its announcer, whose kinds webhooks compares.

/** By the service that announces them; `*` stands for any action. */
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
