import { openHouse } from '/work/main/dev/bench/webhooks/house.ts';
import { cpuMs } from '/work/main/dev/bench/cpu.ts';
const count = Number(process.env.N ?? 20000);
await using house = await openHouse(() => undefined);
process.env.NODE_OPTIONS = process.env.PROF
  ? '--cpu-prof --cpu-prof-dir=/tmp/prof --cpu-prof-interval 500'
  : '';
const replica = await house.startReplica();
await house.register(house.receiver + '/w');
await house.announce(2000);
await house.arrived('/w', 2000);
await house.forget();
for (let turn = 0; turn < 2; turn++) {
  const before = cpuMs([replica.pid]);
  const t0 = performance.now();
  await house.announce(count);
  const t1 = performance.now();
  await house.arrived('/w', count);
  const t2 = performance.now();
  const used = cpuMs([replica.pid]) - before;
  console.log(
    `published ${((count / (t1 - t0)) * 1000).toFixed(0)}/s; delivered ${((count / (t2 - t0)) * 1000).toFixed(0)}/s; ${((used / count) * 1000).toFixed(0)} us each; per core ${((count / used) * 1000).toFixed(0)}`,
  );
  await house.forget();
}
