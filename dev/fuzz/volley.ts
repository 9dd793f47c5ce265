// Sends odd requests, many at a time, and counts their answers.
import type { Stack } from '../stack/index.ts';
import { exchange } from './exchange.ts';
import { openRandom } from './random.ts';
import { drawRequest, type Ingredients } from './request.ts';
import { findFault } from './verdict.ts';

export interface VolleyOptions {
  requests: number;
  seed: number;
  say: (line: string) => void;
}

export interface Volley {
  /** How often each status came. */
  statuses: Map<number | string, number>;
  /** The faults, each with the request that caused it. */
  faults: string[];
}

const atOnce = 16;
/** A test delivery may take 15 s, a push 30 s; nothing takes longer than both. */
const answerWithinMs = 35_000;
const faultsKept = 20;

export async function sendOddRequests(stack: Stack, { requests, seed, say }: VolleyOptions): Promise<Volley> {
  const random = openRandom(seed);
  const ingredients = await gather(stack);
  const port = Number(new URL(stack.gateway).port);
  const volley: Volley = { statuses: new Map(), faults: [] };
  let sent = 0;

  const send = async (): Promise<void> => {
    while (sent < requests) {
      sent += 1;
      if (sent % 1_000 === 0) say(`${sent} of ${requests} odd requests`);
      const request = drawRequest(random, ingredients);
      const outcome = await exchange(port, request.bytes, { ...request, withinMs: answerWithinMs });
      const status = typeof outcome === 'string' ? outcome : outcome.status;
      volley.statuses.set(status, (volley.statuses.get(status) ?? 0) + 1);
      const fault = findFault(outcome);
      if (fault !== undefined && volley.faults.length < faultsKept)
        volley.faults.push(`${fault}\n    ${request.story}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, send));
  return volley;
}

/** Two integrations with a webhook each, so that some of the requests find a webhook. */
async function gather(stack: Stack): Promise<Ingredients> {
  const tokens = [stack.token({ integration: 'fuzz-a' }), stack.token({ integration: 'fuzz-b' })] as const;
  const webhookIds: string[] = [];
  for (const token of tokens) {
    const answer = await fetch(`${stack.gateway}/api/v1/integration/webhook-events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      // No receiver listens at this port: deliveries to it fail immediately.
      body: JSON.stringify({ url: 'http://127.0.0.1:9/', events: ['supplier.created'] }),
    });
    const webhook: { id?: string } = JSON.parse(await answer.text());
    if (webhook.id !== undefined) webhookIds.push(webhook.id);
  }
  return { tokens: [...tokens], webhookIds };
}
