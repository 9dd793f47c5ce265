// npm run storm -- --seed 7 --seconds 300: a stack of its own under seeded faults, and a check of everything that the
// service promises. It exits with code 1 where the service broke a promise.
import { join, resolve } from 'node:path';
import { endSignals } from '../process/signals.ts';
import { explainMisuse } from '../process/words.ts';
import { repositoryFolder } from '../stack/services.ts';
import { tryBreakages } from './breakages/try.ts';
import { verify } from './check/verify.ts';
import { parseStormOptions, usage, type StormChoice } from './options.ts';
import { readPlan } from './plan.ts';
import { countOf, describe } from './report.ts';
import { runStorm } from './run.ts';

const begunMs = performance.now();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWithTime = (line: string): void =>
  say(`${((performance.now() - begunMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`);
// The storm goes on without a reader of its output, as in `npm run storm | head`.
process.stdout.on('error', () => undefined);

const stop = new AbortController();
// A second signal, such as the copy that npm passes on, does not interrupt the end of the storm.
for (const signal of endSignals) process.on(signal, () => stop.abort());
const speaking = { say: sayWithTime, signal: stop.signal };

/** Runs or checks a storm. Resolves with whether no promise was broken. */
async function storm(choice: StormChoice): Promise<boolean> {
  if (choice.breakages !== undefined) return tryBreakages(choice.breakages, speaking);
  const { seed, seconds, profile } = choice;
  const folder = resolve(choice.verify ?? choice.folder ?? join(repositoryFolder, '.local', `storm-${seed}`));
  if (choice.verify === undefined) {
    say(`seed ${seed}, ${seconds} s, profile ${profile}, in ${folder}`);
    await runStorm({ seed, seconds, profile, folder, ...speaking });
  }
  const verdict = await verify(folder);
  say(describe(verdict));
  if (countOf(verdict) === 0) return true;
  const plan = readPlan(folder);
  const again = `--seed ${plan.seed} --seconds ${plan.seconds} --profile ${plan.profile}`;
  say(`once more:        npm run storm -- ${again}`);
  say(`check once more:  npm run storm -- --verify ${folder}`);
  return false;
}

try {
  const choice = parseStormOptions(process.argv.slice(2));
  if (choice.help) say(usage);
  else process.exitCode = (await storm(choice)) ? 0 : 1;
} catch (error) {
  process.exitCode = 1;
  if (stop.signal.aborted) say('Ended before its time; nothing was checked.');
  else process.stderr.write(explainMisuse(error, usage));
}
