// All webhooks of an integration, a page at a time: a thousand are ten pages, and a view asks five times at most.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { Listing, Webhook } from '../api/shapes.ts';
import { entitiesIn, withPage, type Pages } from '../text/pages.ts';
import { useLoad, type Loaded } from './use-load.ts';

const pageMax = 100;
const everyMs = 10_000;
const untilAllMs = 2_000;

/** What has been read so far, and each page again in its turn. Asks nothing where it is off. */
export function useAllWebhooks(isOff: boolean): Loaded<Listing<Webhook>> {
  const [number, setNumber] = useState(1);
  const request = get('/webhook-events', { limit: pageMax, page: number === 1 ? undefined : number });
  const loaded = useLoad<Listing<Webhook>>(isOff ? undefined : request);
  const read = useRef<Pages<Webhook>>(new Map());
  const atRead = useRef(0);
  const { answer, at } = loaded;
  if (answer !== undefined) {
    read.current = withPage(read.current, number, answer.body);
    atRead.current = at;
  }
  useEffect(() => {
    if (answer === undefined) return undefined;
    const pages = Math.max(1, Math.ceil(answer.body.total / pageMax));
    const timer = window.setTimeout(
      () => (pages === 1 && number === 1 ? loaded.reload() : setNumber((number % pages) + 1)),
      read.current.size < pages ? untilAllMs : everyMs,
    );
    return () => window.clearTimeout(timer);
  }, [at]);
  const newest = answer?.body ?? [...read.current.values()].at(-1);
  const entities = entitiesIn(read.current);
  return {
    ...loaded,
    at: atRead.current,
    answer:
      newest === undefined ? undefined : { body: { ...newest, entities }, cursor: undefined, date: null },
  };
}
