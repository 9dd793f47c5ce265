// integration-sync verify: whether the service has the records of the files, and no others.
import type { Command } from '../command.ts';
import { runLoad } from './loads.ts';

const usage = `Usage: integration-sync verify FILE... [options]

Says whether the service has the records of these files, and no others of their kinds: the plan of a load, and what prune would
archive after it. It changes nothing, shows the first ten differences, and ends with 0 where both sides are equal, with 2 where
not. It takes the options of load.
`;

export const verify: Command = {
  name: 'verify',
  summary: 'say whether the service has what files have',
  usage,
  run: (args, context) => runLoad(args, context, usage, 'verify'),
};
