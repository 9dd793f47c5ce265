// What an event is about. Pure.

/** The text in an event's data that best tells events of one kind apart, such as an externalId; else empty. */
export function aboutOf(data: Readonly<Record<string, unknown>>): string {
  const { externalId, batchExternalId, syncId, url, entityType } = data;
  const words = [externalId, batchExternalId, url, entityType, syncId].find(
    (one) => typeof one === 'string' && one !== '',
  );
  return typeof words === 'string' ? words : '';
}
