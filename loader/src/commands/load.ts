// integration-sync load: the rows of files become records.
import type { Command } from '../command.ts';
import { runLoad } from './loads.ts';

const usage = `Usage: integration-sync load FILE... [options]

Loads suppliers*, products* and batches*.xlsx, or .csv, .tsv, .txt, .ndjson or .json, also with .gz behind, or CSV from standard
input as - with --kind. Suppliers go first, then products, then batches. Of several rows with one id, the last one wins.

  --map FILE           which column is which field (--sample prints one to start from)
  --sample             print a map of these files, and send nothing
  --kind KIND          suppliers, products or batches, whatever the name of the file
  --encoding NAME      such as windows-1252 or cp850; found by itself unless it is unclear, as the next four are
  --delimiter C        such as ; or tab
  --no-quotes          quotes are characters like others
  --decimal C          , or .
  --dates FORMAT       such as DD.MM.YYYY
  --rejects FOLDER     where rejected rows go, with row number and reason (rejects/); they can be loaded once repaired
  --results FILE       a CSV of all rows with their internalId and status
  --resume             go on with a load that was interrupted
  --state FOLDER       where the load keeps how far it is (.integration-sync/)
  --auto-create-dds    draft a due-diligence statement for each batch that has none
  --expect-every TIME  such as 26h: the service announces sync.overdue if no further push of these kinds comes in time
  --lanes N            pushes in flight at most (64); how many there are depends on how the service answers
  --patience SECONDS   how long to repeat what the service does not answer (300)
  --url URL            the service; or INTEGRATION_SYNC_URL
  --key-file FILE      the key; or INTEGRATION_SYNC_KEY
  --json               the summary as JSON

Exit codes: 0 all loaded, 2 some rows rejected, 3 stopped before any row was stored, 1 stopped half-way, 130 interrupted.
`;

export const load: Command = {
  name: 'load',
  summary: 'load the rows of files',
  usage,
  run: (args, context) => runLoad(args, context, usage, 'load'),
};
