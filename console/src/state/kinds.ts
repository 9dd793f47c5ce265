// The kinds of events, read from the gateway's OpenAPI document: the console has no list of its own. The document is
// large and does not change while the gateway runs, so a page loads it once.
import { useEffect } from 'preact/hooks';
import { page } from '../api/request.ts';
import { createStore, useStore } from '../store.ts';
import { useLoad } from './use-load.ts';

export interface EventKind {
  name: string;
  summary: string;
}

interface Description {
  webhooks?: Record<string, { post?: { summary?: string; description?: string } }>;
}

const description = page('openapi.json');
const none: readonly EventKind[] = [];
const known = createStore(none);

export function useKinds(): readonly EventKind[] {
  const kinds = useStore(known);
  const { answer } = useLoad<Description>(kinds === none ? description : undefined);
  useEffect(() => {
    if (answer !== undefined) known.set(kindsIn(answer.body));
  }, [answer]);
  return kinds;
}

const kindsIn = ({ webhooks = {} }: Description): EventKind[] =>
  Object.entries(webhooks).map(([name, { post }]) => ({
    name,
    summary: post?.summary ?? post?.description ?? '',
  }));
