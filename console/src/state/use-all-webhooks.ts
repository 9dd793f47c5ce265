// Reads all webhooks of an integration, one page every 2 s, so that a view sends few requests when it opens.
import { useEffect, useRef, useState } from 'preact/hooks';
import { get } from '../api/request.ts';
import type { Listing, Webhook } from '../api/shapes.ts';
import { entitiesIn, withPage, type Pages } from '../text/pages.ts';
import { useLoad, type Loaded } from './use-load.ts';
import { useWhenOld } from './use-when-old.ts';

const pageMax = 100;
const untilAllMs = 2_000;
const everyMs = 10_000;

/** The webhooks read so far. Once the last page is old, all pages are read again. Sends no request if `isOff`. */
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
  const isLast = answer !== undefined && number >= Math.ceil(answer.body.total / pageMax);
  useEffect(() => {
    if (answer === undefined || isLast) return undefined;
    const isNew = read.current.size * pageMax < answer.body.total;
    const timer = window.setTimeout(() => setNumber(number + 1), isNew ? untilAllMs : everyMs);
    return () => window.clearTimeout(timer);
  }, [answer]);
  useWhenOld(isLast && loaded.problem === undefined ? answer : undefined, () =>
    number === 1 ? loaded.reload() : setNumber(1),
  );
  const newest = answer?.body ?? [...read.current.values()].at(-1);
  const entities = entitiesIn(read.current);
  return {
    ...loaded,
    at: atRead.current,
    answer:
      newest === undefined ? undefined : { body: { ...newest, entities }, cursor: undefined, date: null },
  };
}
