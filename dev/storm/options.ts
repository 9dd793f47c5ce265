// The options of `npm run storm` after its `--`.
import { parseArgs } from 'node:util';
import { readCount } from '../process/words.ts';
import { isProfileName, profiles } from './profile.ts';

export const usage = `Usage: npm run storm -- [--seed 7] [--seconds 300] [--profile NAME] [--folder PATH]
       npm run storm -- --verify FOLDER
       npm run storm -- breakages [NAME...]

Runs a stack of its own in FOLDER (.local/storm-SEED unless given), lets seeded faults loose on it while callers push,
list and receive, and checks afterwards what was promised. --verify checks the ledger of a former run once more.
breakages breaks a copy of the services in one way after the other, and tells whether a storm names it.

  --profile usual          processes are killed, stopped and ended (this one unless given)
  --profile late           the same, and waits until no late write can come any more before it checks
  --profile cluster        three nats-servers and a proxy before two gateways: nodes that lead, two of three and all three are
                           killed or stopped, beside some 15 pushes a second
  --profile cluster-rolls  the same cluster: all services and all nodes are ended in turn and started again, and
                           streams lose copies and get them again, beside up to 50
  --profile owners         500 endpoints of 40 integrations, and replicas of webhooks that are killed, frozen for up to a minute, and
                           cut off from NATS or MongoDB for as long
  --profile brief, cluster-brief   what npm test runs; breakages: the storm on a deliberate bug
`;

export type StormChoice = ReturnType<typeof parseStormOptions>;

export function parseStormOptions(args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      seed: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '300' },
      profile: { type: 'string', default: 'usual' },
      folder: { type: 'string' },
      verify: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const [command, ...names] = positionals;
  if (command !== undefined && command !== 'breakages')
    throw new RangeError(`there is no command "${command}"`);
  const { profile } = values;
  if (!isProfileName(profile))
    throw new RangeError(`--profile takes one of ${Object.keys(profiles).join(', ')}, not "${profile}"`);
  return {
    seed: readCount('--seed', values.seed, [0, 999_999_999]),
    seconds: readCount('--seconds', values.seconds, [5, 3_600]),
    profile,
    /** The folder of the storm; undefined for the folder that is named after the seed. */
    folder: values.folder,
    /** The folder of a former run, which this run only checks. */
    verify: values.verify,
    /** Breakages to try; an empty list means all. Undefined: a storm on the product as it is. */
    breakages: command === undefined ? undefined : names,
    help: values.help,
  };
}
