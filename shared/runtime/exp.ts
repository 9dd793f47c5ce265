import { openStore, sortStoreError } from './src/store/index.ts';
import { openLog } from './src/log.ts';
import { execSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
const pid = (f: string) => Number(readFileSync('/tmp/rteng/' + f, 'utf8'));
const tree = (p: number) => [
  p,
  ...execSync(`pgrep -P ${p} || true`).toString().split('\n').filter(Boolean).map(Number),
];
const store = await openStore({
  url: 'mongodb://127.0.0.1:55018',
  database: 'exp',
  log: openLog({ service: 'exp', level: 'info' }),
});
const c = store.collection<{ _id: string; n?: number }>('c');
await c.deleteMany({});
await c.insertOne({ _id: 'a' });
const t = async (name: string, f: () => Promise<unknown>) => {
  const s = performance.now();
  try {
    const r = await f();
    console.log(name, 'ok', Math.round(performance.now() - s));
  } catch (e: any) {
    console.log(
      name,
      'ERR',
      Math.round(performance.now() - s),
      sortStoreError(e),
      e.constructor.name,
      e.code,
      e.codeName,
      String(e.message).slice(0, 100),
    );
  }
};
const all = async (label: string) => {
  console.log('---', label, store.connected);
  await Promise.all([
    t('ping', () => store.ping()),
    t('insert', () => c.insertOne({ _id: String(Math.random()) })),
    t('find', () => c.find({ _id: 'a' }).sort({ n: 1 }).toArray()),
    t('iterate', async () => {
      for await (const d of c.find({})) void d;
    }),
    t('insertMany', () => c.insertMany([{ _id: String(Math.random()) }], { ordered: false })),
    t('bulk', () =>
      c.bulkWrite([{ updateOne: { filter: { _id: 'a' }, update: { $inc: { n: 1 } } } }], { ordered: false }),
    ),
    t('count', () => c.countDocuments({})),
    t('fam', () => c.findOneAndUpdate({ _id: 'a' }, { $inc: { n: 1 } })),
    t('agg', () => c.aggregate([{ $match: { _id: 'a' } }]).toArray()),
  ]);
  console.log('=>', store.connected);
};
const sleep = (ms: number) => new Promise((r) => setTimeout(r, ms));
const back = async (label: string) => {
  const s = performance.now();
  while (!store.connected) await sleep(10);
  console.log(label, 'connected again after', Math.round(performance.now() - s));
  for (;;)
    try {
      await c.insertOne({ _id: String(Math.random()) });
      break;
    } catch {}
  console.log(label, 'written again after', Math.round(performance.now() - s));
};
const stop = (ps: number[]) => ps.forEach((p) => process.kill(p, 'SIGSTOP')),
  cont = (ps: number[]) => ps.forEach((p) => process.kill(p, 'SIGCONT'));
await all('normal');
stop([pid('f.pid')]);
await all('ferret stopped');
await all('ferret stopped 2');
cont([pid('f.pid')]);
await back('ferret cont');
await all('ferret cont');
const ps = tree(pid('pg.pid'));
stop(ps);
await all('pg stopped');
await all('pg stopped 2');
await sleep(7000);
cont(ps);
await back('pg cont');
await all('pg cont');
process.kill(pid('pg.pid'), 'SIGKILL');
await all('pg killed');
await sleep(500);
await all('pg killed 2');
await sleep(2000);
await all('pg killed 3');
execSync('. /tmp/rteng/up.sh; rm -f data/postmaster.pid; pgup', { stdio: ['ignore', 'ignore', 'ignore'] });
await back('pg up');
await all('pg up');
process.kill(pid('f.pid'), 'SIGKILL');
await all('ferret killed');
await all('ferret killed 2');
await sleep(1000);
await all('ferret killed 3');
execSync('. /tmp/rteng/up.sh; fup', { stdio: ['ignore', 'ignore', 'ignore'] });
await back('ferret up');
await all('ferret up');
stop([pid('f.pid')]);
await sleep(2500);
const s = performance.now();
await store[Symbol.asyncDispose]();
console.log('closed', performance.now() - s);
cont([pid('f.pid')]);
