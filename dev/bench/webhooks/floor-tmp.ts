import { parseAllowList } from '../../../services/webhooks/src/address.ts';
import { openConnections } from '../../../services/webhooks/src/connections.ts';
import { openGuard } from '../../../services/webhooks/src/guard.ts';
import { openResolver } from '../../../services/webhooks/src/resolver.ts';
import { openSender } from '../../../services/webhooks/src/sender.ts';
import { signingKeyOf } from '../../../services/webhooks/src/signature.ts';
import { makeSecret } from '../../../services/webhooks/src/secret.ts';
import { openReport } from '../../../services/webhooks/src/report.ts';
import { openNumbers } from '../../../services/webhooks/src/numbers.ts';
import { openLog } from '@integration-sync/runtime/log';
import { Registry } from 'prom-client';
import { startChild } from './children.ts';
import { openSync, writeSync } from 'node:fs';
const rec = await startChild('receiver.ts'); const bare = await startChild('bare.ts');
const url = `http://127.0.0.1:${rec.greeting}/x`;
const connections = openConnections();
const send = openSender({ guard: openGuard({ allowed: parseAllowList('127.0.0.0/8'), resolve: openResolver() }), connections, userAgent: 'IntegrationSync-Webhook/1.0', signal: new AbortController().signal });
const known: any = { endpoint: { _id: 'wh_6d0f5b1a2c3e4f708192a3b4c5d6e7f8', url }, key: signingKeyOf(makeSecret()) };
const fd = openSync('/dev/null', 'w');
const log = openLog({ service: 'webhooks', level: 'info', pretty: false, destination: { write: (l: string) => void writeSync(fd, l) } });
const numbers = openNumbers(new Registry(), { inFlight: () => 0, waiting: () => 0, lanes: () => 0, keepers: () => 0, disabled: async () => 0 });
const report = openReport(log, { append(){} } as any, numbers);
const count = 20000;
const next: any = { event: 'delivered' };
for (let turn = 0; turn < 4; turn++) {
  const used = Number(await bare.ask({ url, count, inFlight: 8 }));
  for (const mode of ['send', 'send+report']) {
    let n = 0; const before = process.cpuUsage();
    await Promise.all(Array.from({ length: 8 }, async () => { while (n < count) { n++; const timestamp = new Date().toISOString();
      const body = Buffer.from(JSON.stringify({ event: 'supplier.created', timestamp, integrationId: 'bench', data: { externalId: `SUP-${n}`, internalId: 'sup_3f1c0a52b7d94e6f8a21c5d07e9b4413' } }));
      const attempted = await send(known, { eventId: `e-${n}`, event: 'supplier.created', timestamp, body });
      if (mode !== 'send') report({ endpointId: known.endpoint._id, integration: 'bench', eventId: `e-${n}`, event: 'supplier.created', number: 1, attempted, next, nextAttemptAt: null });
    } }));
    const d = process.cpuUsage(before); const us = (d.user + d.system) / count;
    console.log(mode, us.toFixed(1), 'us; bare', (used * 1000 / count).toFixed(1), 'us; ratio', ((used * 1000 / count) / us).toFixed(2));
  }
}
process.exit();
