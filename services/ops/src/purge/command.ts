// ops purge-integration removes everything of one integration, from the collections and streams of all services.
import { integrationPattern, isIntegration } from '@integration-sync/contracts';
import { batchesOperating } from '@integration-sync/batches/operating';
import { catalogOperating } from '@integration-sync/catalog/operating';
import type { Store } from '@integration-sync/runtime/store';
import { defineCommand, exitCodes, Misuse, Refusal, type ExitCode } from '../command.ts';
import { PurgeConfig } from '../config.ts';
import { openOpsBus, openOpsStore, readSettings } from '../open-engines.ts';
import { numberInWords, type Output } from '../output.ts';
import { openHoldings, purge, requireStreams, type Holdings, type Purged } from './purge.ts';

const help = `Usage: ops purge-integration NAME [--apply] [--json]

Removes everything of one integration: its records and statements, the journal and history of its pushes, its
watermarks, its webhooks with their secrets, and what of it stands in EVENTS, EVENT_BATCHES and ATTEMPTS.
There is no way back. Other integrations and running replicas go on undisturbed.

  (nothing)  says how much there is, place by place
  --apply    removes it, waits for what replicas are working on, and looks again, until nothing has come back
  --json     what was found as one JSON document

First have the issuer withdraw the tokens of the integration; an issued token is good for 24 h at most. The command
refuses while a push of the integration began less than 3 minutes ago, or has not come to its end. It may be cut off at
any moment, and run again; until it has ended, part of the integration is there. What it does not reach: backups, and
what receivers and readers of EVENTS have made of it.

Settings, as the services have them: MONGODB_URL, MONGODB_DATABASE, NATS_URL. The user of MongoDB needs readWrite on
the database of all services, that of NATS what "ops" may in deploy/nats/nats.conf.

Examples:
  ops purge-integration acme
  ops purge-integration acme --apply
  docker compose run --rm ops purge-integration acme
`;

export const purgeCommand = defineCommand({
  name: 'purge-integration',
  summary: 'removes everything of one integration',
  help,
  options: {},
  allowPositionals: true,
  async run(call) {
    const { values, positionals, output } = call;
    const [integration, ...more] = positionals;
    if (integration === undefined || more.length > 0) throw new Misuse('Name one integration.');
    if (!isIntegration(integration))
      throw new Misuse(`${JSON.stringify(integration)} is no name of an integration: ${integrationPattern}`);
    const settings = readSettings(PurgeConfig, call);
    await using store = await openOpsStore(settings);
    await using bus = await openOpsBus(settings);
    await requireStreams(bus);
    const holdings = openHoldings(store, bus, integration);

    if (!values.apply) {
      const found = await countAll(holdings);
      show(integration, found, output);
      const isBegun = await holdings.isBegun();
      output.give({ integration, found, isBegun });
      if (isBegun) output.say(`A removal of ${integration} was begun earlier and is not finished.`);
      if (isBegun || Object.values(found).some((count) => count > 0))
        output.say(`This call removed nothing. ops purge-integration ${integration} --apply removes it.`);
      return exitCodes.well;
    }
    await refuseWhilePushing(store, integration);
    const purged = await purge(holdings, output);
    output.give({ integration, ...purged });
    show(integration, purged.removed, output);
    return conclude(integration, purged, output);
  },
});

async function countAll({ all }: Holdings): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { location, count } of all) counts[location] = await count();
  return counts;
}

function show(integration: string, counts: Record<string, number>, output: Output): void {
  output.table(['PLACE', `OF ${integration}`], Object.entries(counts));
  output.say();
}

async function refuseWhilePushing(store: Store, integration: string): Promise<void> {
  const now = new Date();
  const pushing = [
    await catalogOperating.stillPushing(store, integration, now),
    await batchesOperating.stillPushing(store, integration, now),
  ].filter((one) => one !== undefined);
  const [last] = pushing.toSorted((one, other) => other.quietAt.getTime() - one.quietAt.getTime());
  if (last === undefined) return;
  const { syncId, startedAt, quietAt } = last;
  throw new Refusal(
    `Nothing was removed: ${integration} still pushes. Its push ${syncId} began at ${startedAt.toISOString()}, and its ` +
      'records and events would come back. Have the issuer withdraw the tokens of the integration (an issued token is good ' +
      `for 24 h at most), and run this command again after ${quietAt.toISOString()}.`,
    exitCodes.wrong,
  );
}

function conclude(integration: string, { passes, cameBack }: Purged, output: Output): ExitCode {
  if (cameBack.length > 0) {
    output.say(
      `The removal is not over: in each of ${passes} passes something of ${integration} came back (${cameBack.join(', ')}). Its ` +
        'tokens are still good, or replicas could not finish their work. Have the tokens withdrawn, see that /readyz is ' +
        'well, and run this command again.',
    );
    return exitCodes.wrong;
  }
  output.say(`Nothing of ${integration} is left: pass ${numberInWords(passes)} found nothing any more.`);
  output.say(
    'Restart catalog before an integration of this name pushes again: catalog remembers the removed products.',
  );
  return exitCodes.well;
}
