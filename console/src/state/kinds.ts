// The kinds of events, as the gateway's own description has them: the console follows it and lists none itself.
import { page } from '../api/request.ts';
import { useLoad } from './use-load.ts';

export interface EventKind {
  name: string;
  summary: string;
}

interface Description {
  webhooks?: Record<string, { post?: { summary?: string; description?: string } }>;
}

const description = page('openapi.json');

export function useKinds(): readonly EventKind[] {
  const { answer } = useLoad<Description>(description);
  return Object.entries(answer?.body.webhooks ?? {}).map(([name, { post }]) => ({
    name,
    summary: post?.summary ?? post?.description ?? '',
  }));
}
