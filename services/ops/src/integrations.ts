// ops integrations: one line for each integration, for the operator who asks which of them has a problem.
import { batchesOperating } from '@integration-sync/batches/operating';
import { catalogOperating } from '@integration-sync/catalog/operating';
import { expectedKindNames as kinds } from '@integration-sync/contracts';
import type { Store } from '@integration-sync/runtime/store';
import { readWebhookStates } from '@integration-sync/webhooks/operating';
import { defineCommand, exitCodes } from './command.ts';
import { PurgeConfig } from './config.ts';
import { openOpsStore, readSettings } from './open-engines.ts';
import { numberInWords, spanInWords, type Output } from './output.ts';

const help = `Usage: ops integrations [--problems] [--json]

One line for each integration: how long ago a push last wrote suppliers, products and batches, the share of items that failed
in its newest push of the last 7 days and the client of that push, the kinds whose push is overdue, and how many webhooks are disabled (not by their caller)
or behind.

  (nothing)   all integrations, in the order of their names
  --problems  those alone with a failed item, an overdue push, or a webhook that is disabled or behind; ends with 3 if there is one
  --json      what was found as one JSON document

Settings, as the services have them: MONGODB_URL, MONGODB_DATABASE.

Examples:
  ops integrations --problems
  ops integrations --json
`;

export const integrationsCommand = defineCommand({
  name: 'integrations',
  summary: 'the integrations, and which of them has a problem',
  help,
  options: { problems: { type: 'boolean', default: false } },
  async run(call) {
    const { values, output } = call;
    await using store = await openOpsStore(readSettings(PurgeConfig, call));
    const all = await readIntegrations(store);
    const problems = all.filter(hasProblem);
    const shown = values.problems ? problems : all;
    output.give({ integrations: shown });
    show(shown, output);
    output.say(
      `${numberInWords(problems.length)} of ${numberInWords(all.length)} integrations have a problem.`,
    );
    return values.problems && problems.length > 0 ? exitCodes.wrong : exitCodes.well;
  },
});

type Integration = Awaited<ReturnType<typeof readIntegrations>>[number];

const hasProblem = ({ lastRun, overdue, webhooks }: Integration): boolean =>
  (lastRun?.failedShare ?? 0) > 0 || overdue.length > 0 || webhooks.disabled > 0 || webhooks.behind > 0;

async function readIntegrations(store: Store) {
  const [catalog, batches, overdue, webhooks] = await Promise.all([
    catalogOperating.lastPushes(store),
    batchesOperating.lastPushes(store),
    catalogOperating.overdue(store),
    readWebhookStates(store),
  ]);
  const overdueBy = Map.groupBy(overdue, ({ integration }) => integration);
  const names = new Set([...catalog.keys(), ...batches.keys(), ...overdueBy.keys(), ...webhooks.keys()]);
  return [...names].toSorted().map((integration) => {
    const pushes = [catalog.get(integration), batches.get(integration)];
    const { webhooks: registered = 0, disabled = 0, behind = 0 } = webhooks.get(integration) ?? {};
    const last = pushes
      .flatMap((one) => one?.lastRun ?? [])
      .toSorted((one, other) => other.startedAt.getTime() - one.startedAt.getTime())[0];
    const items = last === undefined ? 0 : last.created + last.updated + last.failed;
    return {
      integration,
      /** When a push last wrote records, by kind of record; null if no push has. */
      lastPushAt: Object.fromEntries(
        kinds.map((kind) => [
          kind,
          pushes.map((one) => one?.writtenAt.get(kind)).find((at) => at !== undefined) ?? null,
        ]),
      ),
      /** The newest push of the integration in the last 7 days. */
      lastRun:
        last === undefined
          ? null
          : {
              entityType: last.entityType,
              startedAt: last.startedAt,
              client: last.client,
              failedShare: items === 0 ? 0 : last.failed / items,
            },
      overdue: (overdueBy.get(integration) ?? []).map(({ entityType, dueAt }) => ({ entityType, dueAt })),
      webhooks: { all: registered, disabled, behind },
    };
  });
}

const percent = (share: number): string =>
  share === 0 ? '0 %' : share < 0.01 ? '< 1 %' : `${Math.round(share * 100)} %`;

function show(found: readonly Integration[], output: Output): void {
  const now = Date.now();
  const ago = (at: Date | null | undefined): string =>
    at === null || at === undefined ? '–' : spanInWords(Math.max(0, now - at.getTime()));
  const rows = found.map(({ integration, lastPushAt, lastRun, overdue, webhooks }) => [
    integration,
    ...kinds.map((kind) => ago(lastPushAt[kind])),
    lastRun === null ? '–' : percent(lastRun.failedShare),
    lastRun?.client ?? '–',
    overdue.map(({ entityType, dueAt }) => `${entityType} ${ago(dueAt)}`).join(', ') || '–',
    `${webhooks.disabled} / ${webhooks.behind} / ${webhooks.all}`,
  ]);
  if (rows.length === 0) return;
  output.table(
    [
      'INTEGRATION',
      'SUPPLIERS',
      'PRODUCTS',
      'BATCHES',
      'FAILED',
      'CLIENT',
      'OVERDUE',
      'DISABLED / BEHIND / WEBHOOKS',
    ],
    rows,
  );
  output.say();
}
