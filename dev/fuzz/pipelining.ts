// Requests without a token that a client sends without waiting for an answer, on one connection and on many, beside a
// neighbour's pushes.
import { connect } from 'node:net';
import { residentMb } from '../process/memory.ts';
import type { Stack } from '../stack/index.ts';
import { askAsNeighbour, p99Of, refusalsOf, sayFelt } from './neighbour.ts';

const aloneMs = 10_000;
const p99MsMax = 1_000;
const growthMbMax = 256;
const request = 'GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n';
const statusLine = 'HTTP/1.1 ';

interface Volley {
  connections: number;
  requests: number;
}
const volleys: readonly Volley[] = [
  { connections: 1, requests: 100_000 },
  { connections: 200, requests: 1_000 },
];

/** Sends the requests; resolves with the harm that they did to the neighbour and the gateway. */
export async function sendPipelined(stack: Stack, say: (line: string) => void): Promise<string[]> {
  const gateways = (): number => residentMb(stack.pids()['gateway'] ?? []);
  const alone = await askAsNeighbour(stack, AbortSignal.timeout(aloneMs));
  say(`alone: ${sayFelt(alone)}`);
  const faults = refusalsOf(alone, 'nothing');
  for (const { connections, requests } of volleys) {
    const story = `${connections} × ${requests} pipelined requests`;
    const beforeMb = gateways();
    const startedAt = performance.now();
    const end = new AbortController();
    const neighbour = askAsNeighbour(stack, end.signal);
    let mostMb = beforeMb;
    const watch = setInterval(() => (mostMb = Math.max(mostMb, gateways())), 250);
    const answered = await Promise.all(Array.from({ length: connections }, () => sendAll(stack, requests)));
    clearInterval(watch);
    end.abort();
    const felt = await neighbour;
    const took = ((performance.now() - startedAt) / 1_000).toFixed(1);
    const growth = mostMb - beforeMb;
    say(`${story} in ${took} s: ${sayFelt(felt)}; the gateway takes ${growth.toFixed(0)} MB more`);
    faults.push(...refusalsOf(felt, story));
    if (p99Of(felt) > p99MsMax) faults.push(`${sayFelt(felt)} beside ${story}`);
    if (growth > growthMbMax) faults.push(`the gateway takes ${growth.toFixed(0)} MB more for ${story}`);
    const missing = answered.filter((count) => count !== requests);
    if (missing.length > 0) faults.push(`${story}: ${missing.length} connections without all answers`);
  }
  return faults;
}

/** Resolves with the number of answers, once all have come or the connection has ended. */
function sendAll({ gateway }: Stack, requests: number): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(gateway).port), '127.0.0.1');
    let count = 0;
    let rest = '';
    socket.on('data', (chunk: Buffer) => {
      const text = rest + chunk.toString('latin1');
      count += text.split(statusLine).length - 1;
      rest = text.slice(1 - statusLine.length).replaceAll(statusLine, '');
      if (count >= requests) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(count));
    socket.write(request.repeat(requests));
  });
}
