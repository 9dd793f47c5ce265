// npm run storm -- --seed 7 --seconds 300: a stack of its own under seeded faults, and a check of everything that the
// service promises. It exits with code 1 where the service broke a promise.
import { join, resolve } from 'node:path';
import { endSignals } from '../process/signals.ts';
import { explainMisuse } from '../process/words.ts';
import { repositoryFolder } from '../stack/services.ts';
import { tryBreakages } from './breakages/try.ts';
import { verify } from './check/verify.ts';
import { parseStormOptions, usage, type StormChoice } from './options.ts';
import { hasPlan, readPlan } from './plan.ts';
import { countOf, describe } from './report.ts';
import { runStorm } from './run.ts';

const begunMs = performance.now();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const sayWithTime = (line: string): void =>
  say(`${((performance.now() - begunMs) / 1_000).toFixed(0).padStart(4)} s  ${line}`);
// A reader that has gone, as in `npm run storm | head`, is no reason to stop.
process.stdout.on('error', () => undefined);

const stop = new AbortController();
// At a second signal, such as npm's copy of the terminal's, it goes on ending.
for (const signal of endSignals) process.on(signal, () => stop.abort());

async function storm(choice: StormChoice): Promise<number> {
  if (choice.help) {
    say(usage);
    return 0;
  }
  if (choice.breakages !== undefined) {
    return (await tryBreakages(choice.breakages, { say: sayWithTime, signal: stop.signal })) ? 0 : 1;
  }
  const folder = resolve(
    choice.verify ?? choice.folder ?? join(repositoryFolder, '.local', `storm-${choice.seed}`),
  );
  if (choice.verify === undefined) {
    const { seed, seconds, profile } = choice;
    say(`seed ${seed}, ${seconds} s, profile ${profile}, in ${folder}`);
    await runStorm({ seed, seconds, profile, folder, say: sayWithTime, signal: stop.signal });
  } else if (!hasPlan(folder)) {
    throw new RangeError(`${folder} is no folder of a storm`);
  }
  const verdict = await verify(folder);
  say(describe(verdict));
  const count = countOf(verdict);
  if (count > 0) {
    const { seed, seconds, profile } = readPlan(folder);
    say(`once more:        npm run storm -- --seed ${seed} --seconds ${seconds} --profile ${profile}`);
    say(`check once more:  npm run storm -- --verify ${folder}`);
  }
  return count === 0 ? 0 : 1;
}

try {
  process.exitCode = await storm(parseStormOptions(process.argv.slice(2)));
} catch (error) {
  process.exitCode = 1;
  if (stop.signal.aborted) say('Ended before its time; nothing was checked.');
  else process.stderr.write(explainMisuse(error, usage));
}
