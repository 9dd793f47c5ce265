// Run by node as `nats-starter.ts FOLDER`: starts a NATS there, prints its pid, and waits to be killed.
import { startEngine } from '@integration-sync/dev/engines';

const [dataFolder] = process.argv.slice(2);
if (dataFolder === undefined) throw new TypeError('usage: nats-starter.ts FOLDER');
const nats = await startEngine('nats', { dataFolder });
process.stdout.write(`${nats.pids().join(' ')}\n`);
await new Promise(() => setInterval(() => undefined, 60_000));
