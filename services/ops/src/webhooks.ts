// ops webhooks enables webhooks that were disabled because of an outage of the webhooks service.
import { setTimeout as wait } from 'node:timers/promises';
import { parseInstant } from '@integration-sync/contracts';
import {
  openDisabledWebhooks,
  type DisabledWebhook,
  type DisabledWebhooks,
} from '@integration-sync/webhooks/operating';
import { checkIntegration, defineCommand, exitCodes, Misuse } from './command.ts';
import { PurgeConfig } from './config.ts';
import { openOpsStore, readSettings } from './open-engines.ts';
import { numberInWords, type Output } from './output.ts';

const help = `Usage: ops webhooks --disabled-since TIME [--integration NAME] [--apply [--replay]] [--json]

Lists the webhooks that failures have disabled since TIME, and enables them: for an outage of this service, such as a broken
egress proxy, which no caller has to mend. Webhooks that their callers have disabled, or that answered 410,
are not among them. Running replicas of webhooks do the work, and announce webhook.enabled for each.

  (nothing)         says which they are
  --disabled-since  a day, or a date-time with Z or an offset
  --integration     of this integration only
  --apply           enables them, and waits until that is done. May be cut off, and run again
  --replay          with --apply: each gets what it has missed since it was disabled
  --json            what was found as one JSON document

Settings, as webhooks has them: MONGODB_URL, MONGODB_DATABASE.

Examples:
  ops webhooks --disabled-since 2026-03-31T21:00:00Z
  ops webhooks --disabled-since 2026-03-31T21:00:00Z --apply --replay
`;

const pollMs = 200;
/** How long the command waits without progress: replicas enable webhooks once a second, and replays take longer. */
const stillMs = 60_000;

export const webhooksCommand = defineCommand({
  name: 'webhooks',
  summary: 'webhooks that an outage has disabled, enabled again',
  help,
  options: {
    'disabled-since': { type: 'string' },
    integration: { type: 'string' },
    replay: { type: 'boolean', default: false },
  },
  async run(call) {
    const { values, output } = call;
    const since = parseInstant(values['disabled-since'] ?? '');
    if (since === undefined)
      throw new Misuse('--disabled-since: expected a day, or a date-time with Z or an offset.');
    if (values.integration !== undefined) checkIntegration(values.integration);
    if (values.replay && !values.apply) throw new Misuse('--replay goes with --apply.');
    await using store = await openOpsStore(readSettings(PurgeConfig, call));
    const webhooks = openDisabledWebhooks(store);
    const found = await webhooks.find(since, values.integration);
    show(found, output);
    if (!values.apply || found.length === 0) {
      output.give({ webhooks: found.map(listed) });
      if (found.length > 0)
        output.say('Nothing was changed. --apply enables them, --apply --replay sends what they missed.');
      return exitCodes.well;
    }
    const noted = await webhooks.enable(found, values.replay);
    const left = await waitFor(webhooks, found, output);
    output.give({ webhooks: found.map(listed), enabled: noted - left, left });
    output.say(`${numberInWords(noted - left)} webhooks are enabled.`);
    if (left > 0)
      output.say(
        `${numberInWords(left)} webhooks are left to the replicas of webhooks: is a replica of this release running?`,
      );
    return left > 0 ? exitCodes.wrong : exitCodes.well;
  },
});

/** Resolves with the number of webhooks whose recovery is not complete: 0, or more after `stillMs` without progress. */
async function waitFor(
  webhooks: DisabledWebhooks,
  found: readonly DisabledWebhook[],
  output: Output,
): Promise<number> {
  let before = Infinity;
  for (let movedAt = performance.now(); ; await wait(pollMs)) {
    const left = await webhooks.countLeft(found);
    if (left === 0 || performance.now() - movedAt > stillMs) return left;
    if (left === before) continue;
    [before, movedAt] = [left, performance.now()];
    output.progress(`${numberInWords(left)} of ${numberInWords(found.length)} are left`);
  }
}

const listed = ({ _id, integration, disabledAt, failures }: DisabledWebhook) => ({
  id: _id,
  integration,
  disabledAt,
  consecutiveFailures: failures,
});

/** Shows no urls, which may hold secrets of the receivers. */
function show(found: readonly DisabledWebhook[], output: Output): void {
  const rows = found.map(({ _id, integration, disabledAt, failures }) => [
    integration,
    _id,
    disabledAt?.toISOString() ?? '',
    failures,
  ]);
  if (rows.length > 0) output.table(['INTEGRATION', 'WEBHOOK', 'DISABLED AT', 'FAILURES'], rows);
  output.say();
  output.say(`Failures have disabled ${numberInWords(found.length)} webhooks since then.`);
}
