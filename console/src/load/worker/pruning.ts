// Records that the last load did not name: shown, and archived within the bounds of prune.
import { checked, find, kinds, refusal, tooMany, type Found, type History } from 'integration-sync/core';
import type { Access, Gone, Loaded } from '../protocol.ts';
import type { Service } from './service.ts';

/** The kinds of records whose last load has finished, each with the files of that load. */
export const loadedIn = (history: History): Loaded[] =>
  kinds.flatMap((kind) => {
    const { finishedAt, files = [] } = history[kind] ?? {};
    return finishedAt === undefined ? [] : [{ kind, files }];
  });

const idsShown = 100;

export class Pruning {
  readonly #service: Service;
  readonly #access: Access;
  #found: Found[] = [];

  constructor(service: Service, access: Access) {
    this.#service = service;
    this.#access = access;
  }

  /** Batches come before products, and products before suppliers, because they refer to them. */
  async find(history: History): Promise<Gone> {
    const client = this.#service.client(new AbortController().signal);
    const target = { url: this.#service.url, integration: this.#access.integration };
    const found: Found[] = [];
    for (const kind of kinds.toReversed()) {
      const one = history[kind];
      if (one !== undefined) found.push(await find(client, kind, checked(one, kind, target)));
    }
    // Set after the last `find`: once a `find` has failed, no archiving takes records that the page has not shown.
    this.#found = found;
    return this.#shown(undefined, false);
  }

  /**
   * Archives the found records, unless they are more than `most` percent of the records of their kind, or a push or a load of
   * another tab has named one of them since.
   */
  async archive(most: number, history: History): Promise<Gone> {
    const idsOf = (): string => JSON.stringify(this.#found.map(({ ids }) => ids));
    const shown = idsOf();
    await this.find(history);
    if (idsOf() !== shown)
      return this.#shown('Nothing is archived: the list has changed. Look at it again.', false);
    for (const { kind, ids, total } of this.#found)
      if (tooMany(ids.length, total, most)) return this.#shown(refusal(kind, ids.length, total, most), false);
    const client = this.#service.client(new AbortController().signal);
    for (const { kind, ids } of this.#found) await client.archive(kind, ids);
    return this.#shown(undefined, true);
  }

  #shown(problem: string | undefined, isArchived: boolean): Gone {
    return {
      found: this.#found.map(({ kind, ids, total }) => ({
        kind,
        count: ids.length,
        total,
        ids: ids.slice(0, idsShown),
      })),
      problem,
      isArchived,
    };
  }
}
