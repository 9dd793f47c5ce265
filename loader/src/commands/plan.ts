// integration-sync plan: what a load of the same files would do.
import type { Command } from '../command.ts';
import { runLoad } from './loads.ts';

const usage = `Usage: integration-sync plan FILE... [options]

Says what a load of these files would create, update and reject, and changes nothing. It takes the options of load;
rejected rows are written only where --rejects names a folder.
`;

export const plan: Command = {
  name: 'plan',
  summary: 'say what a load would do, and do nothing',
  usage,
  run: (args, context) => runLoad(args, context, usage, 'plan'),
};
