// From the documents that a page would show to what it shows: as many as were asked for, and as many bytes as an answer may
// have.

export interface Page<Document> {
  /** Each as JSON. */
  entities: string[];
  /** The last of them, where more follow. */
  last: Document | undefined;
}

export interface PageBounds {
  limit: number;
  /** Of all entities together; one that is larger stands alone. */
  bytesMax: number;
}

/** There is one more than the limit where there are more. They are read no further than is needed. */
export async function takePage<Document>(
  found: AsyncIterable<Document> | Iterable<Document>,
  { limit, bytesMax }: PageBounds,
  entityOf: (document: Document) => unknown,
): Promise<Page<Document>> {
  const entities: string[] = [];
  let bytes = 0;
  let last: Document | undefined;
  for await (const document of found) {
    const entity = entities.length < limit ? JSON.stringify(entityOf(document)) : '';
    bytes += Buffer.byteLength(entity);
    if (entities.length > 0 && (entities.length === limit || bytes > bytesMax)) return { entities, last };
    entities.push(entity);
    last = document;
  }
  return { entities, last: undefined };
}
