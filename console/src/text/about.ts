// What an event is about. Pure.

/** The one text in its data that tells the events of a kind apart. */
export function aboutOf(data: Readonly<Record<string, unknown>>): string {
  const { externalId, batchExternalId, syncId, url, entityType } = data;
  const words = [externalId, batchExternalId, url, entityType, syncId].find(
    (one) => typeof one === 'string' && one !== '',
  );
  return typeof words === 'string' ? words : '';
}
