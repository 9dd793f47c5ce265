// Listings of one integration, in turns with and without ten open consoles of another integration to which nothing
// happens. A script sends the requests of the ten pages: ten browsers would take the processors of this machine.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { basePath } from '@integration-sync/contracts';
import { openClient, type Client } from './client.ts';
import { makeItems, pushBody, suppliersPath } from './items.ts';
import { figuresOf, quantile, reportLine } from './measure.ts';
import type { Setting } from './setting.ts';

const consoles = 10;
const records = 1_000;
const webhooks = 100;
const pushes = 100;
/** Ten turns are longer than the minute or so after which a page asks by itself. */
const turnMs = 10_000;
const turnsDefault = 10;
const warmPages = 500;
const pageEveryMs = 10;
const wanted = 1.1;

export async function benchConsoles({ stack, options, say }: Setting): Promise<void> {
  const { turns = turnsDefault } = options;
  const integration = 'bench-consoles';
  using shown = openClient(stack.gateway, stack.token({ integration }));
  using other = openClient(stack.gateway, stack.token({ integration: 'bench-others' }));
  await fill(shown);
  for (let from = 0; from < records; from += 500)
    await other.post(suppliersPath, pushBody(makeItems(`S${from}`)));
  const page = `${suppliersPath}?limit=50`;
  for (let count = 0; count < warmPages; count += 1) await other.get(page);

  const ms: Record<'none' | 'ten', number[]> = { none: [], ten: [] };
  for (let turn = 0; turn < turns; turn += 1) {
    for (const which of turn % 2 === 0 ? (['none', 'ten'] as const) : (['ten', 'none'] as const)) {
      await using _pages =
        which === 'ten' ? await openConsoles(stack.gateway, stack.token({ integration })) : undefined;
      const end = performance.now() + turnMs;
      while (performance.now() < end) {
        const began = performance.now();
        await other.get(page);
        ms[which].push(performance.now() - began);
        await wait(pageEveryMs);
      }
    }
  }
  const [none, ten] = [figuresOf(ms.none), figuresOf(ms.ten)];
  for (const [name, share] of [
    ['median', 0.5],
    ['p95', 0.95],
    ['p99', 0.99],
  ] as const) {
    const [alone, beside] = [quantile(none.ms, share), quantile(ten.ms, share)];
    const detail = `${beside.toFixed(2)} ms beside ${consoles} consoles, ${alone.toFixed(2)} ms without, ${ten.ms.length} pages each`;
    say(reportLine(`listing, ${name}`, beside / alone, detail, `≤ ${wanted}`, beside / alone <= wanted));
  }
}

async function fill(client: Client): Promise<void> {
  for (let push = 0; push < pushes; push += 1)
    await client.post(suppliersPath, pushBody(makeItems(`P${push}`, records / pushes)));
  for (let webhook = 0; webhook < webhooks; webhook += 1) {
    const body = { url: `http://127.0.0.1:9/${webhook}`, events: ['webhook.disabled'] };
    await client.tryPost(`${basePath}/webhook-events`, Buffer.from(JSON.stringify(body)));
  }
}

/** Runs in a process of its own, so that reading the answers does not delay what is measured here. */
async function openConsoles(gateway: string, token: string): Promise<AsyncDisposable> {
  const child = fork(new URL('consoles-process.ts', import.meta.url), [gateway, token, String(consoles)]);
  await once(child, 'message');
  return {
    async [Symbol.asyncDispose]() {
      child.kill();
      await once(child, 'exit');
    },
  };
}
