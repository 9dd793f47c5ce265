// The kinds of events, as the gateway's own description has them: the console follows it and lists none itself. The description is
// large and does not change while the gateway runs, so a page asks for it once.
import { useEffect } from 'preact/hooks';
import { page } from '../api/request.ts';
import { createStore, useStore } from './store.ts';
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
