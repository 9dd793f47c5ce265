// ops reseal encrypts signing secrets again with the newest key, so that older keys can be removed from WEBHOOK_SECRET_KEY.
import {
  askKeys,
  openReseal,
  openVault,
  type ReplicaKeys,
  type Reseal,
  type ResealProgress,
  type Vault,
} from '@integration-sync/webhooks/operating';
import { defineCommand, exitCodes, Misuse, Refusal, type ExitCode } from './command.ts';
import { ResealConfig } from './config.ts';
import { openOpsBus, openOpsStore, readSettings } from './open-engines.ts';
import { numberInWords, type Output } from './output.ts';

const help = `Usage: ops reseal [--apply | --check] [--json]

Seals the signing secrets and the headers of all webhooks again, under the first key of WEBHOOK_SECRET_KEY, so that the
keys behind it may go without a rotation by any customer. Secrets stay what they are: receivers notice nothing. What a
customer rotates meanwhile stays as the customer made it. Nothing else that is stored is sealed with these keys.

  (nothing)  says how many secrets are sealed with which key
  --apply    seals again what is not under the first key, and looks once more. May be cut off, and run again
  --check    exit code 3 if a secret is not under the first key
  --json     what was found as one JSON document

Settings, as webhooks has them: WEBHOOK_SECRET_KEY, MONGODB_URL, MONGODB_DATABASE, NATS_URL. With --apply the command
asks the running replicas of webhooks which keys they have, and changes nothing while one of them lacks the new key.

Examples:
  # 1. Every replica of webhooks runs with the new key first: WEBHOOK_SECRET_KEY=new:…,old:…
  ops reseal
  # 2. Seal again, with the same setting.
  ops reseal --apply
  # 3. Take the old key out of the setting of webhooks, once this says that it may go.
  ops reseal --check && echo "the old key may go"
  # In containers.
  docker compose run --rm ops reseal
`;

type Found = Awaited<ReturnType<typeof look>>;

export const resealCommand = defineCommand({
  name: 'reseal',
  summary: 'signing secrets under the newest key, so that an old key may go',
  help,
  options: { check: { type: 'boolean', default: false } },
  async run(call) {
    const { values, output } = call;
    if (values.apply && values.check)
      throw new Misuse('--apply checks at its end what --check checks: give one of them.');
    const settings = readSettings(ResealConfig, call);
    const vault = openVault(settings.config.WEBHOOK_SECRET_KEY);
    await using store = await openOpsStore(settings);
    const reseal = openReseal(store, vault);

    if (!values.apply) {
      const found = await look(reseal, vault);
      show(found, output);
      output.give(found);
      if (found.left > 0) output.say('Nothing was changed. ops reseal --apply seals them again.');
      return values.check && found.left > 0 ? exitCodes.wrong : exitCodes.well;
    }
    await using bus = await openOpsBus(settings);
    const replicas = await askKeys(bus);
    refuseIfMissing(vault, replicas);
    if (replicas.length === 0)
      output.progress('No replica of webhooks answers. A replica that starts later needs the new key.');
    const done = await sealAll(reseal, output);
    const found = await look(reseal, vault);
    show(found, output);
    output.give({ ...found, resealed: done.resealed, problems: done.problems });
    return conclude(found, done, replicas, vault, output);
  },
});

async function look(reseal: Reseal, vault: Vault) {
  const [newestKey = ''] = vault.keyIds;
  const secrets = (await reseal.countByKey()).map(({ keyId, secrets: count }) => ({
    keyId,
    secrets: count,
    isConfigured: vault.keyIds.includes(keyId),
  }));
  /** The number of secrets that are not sealed with the newest key. */
  const left = secrets.reduce((all, { keyId, secrets: count }) => all + (keyId === newestKey ? 0 : count), 0);
  return { newestKey, secrets, left };
}

function show({ newestKey, secrets, left }: Found, output: Output): void {
  const rows = secrets.map(({ keyId, secrets: count, isConfigured }) => [
    keyId,
    count,
    keyId === newestKey ? 'the newest key' : isConfigured ? 'configured' : 'not configured here',
  ]);
  output.table(['KEY', 'SECRETS', ''], rows);
  output.say();
  output.say(
    left === 0
      ? `No secret is under another key than "${newestKey}".`
      : `Not under "${newestKey}": ${numberInWords(left)}.`,
  );
}

/** A replica that lacks the newest key, or has another key with the same id, could not open resealed secrets. */
function refuseIfMissing(vault: Vault, replicas: readonly ReplicaKeys[]): void {
  const [newest] = vault.fingerprints;
  const lacking = replicas.filter((keys) =>
    keys.every(({ id, fingerprint }) => id !== newest?.id || fingerprint !== newest.fingerprint),
  );
  if (lacking.length === 0) return;
  const have = lacking.map((keys) => keys.map(({ id }) => id).join(', ')).join(' and ');
  throw new Refusal(
    `Nothing was changed: ${lacking.length} of ${replicas.length} replicas of webhooks do not have the key "${newest?.id}" ` +
      `as it is configured here (they have ${have}), and could not open secrets that are sealed with this key. Start them with ` +
      'the WEBHOOK_SECRET_KEY that this command has, then run this command again.',
    exitCodes.wrong,
  );
}

/** The second run finds secrets that replicas with another first key have sealed during the first run. */
async function sealAll(reseal: Reseal, output: Output): Promise<ResealProgress> {
  const toDo = await reseal.countLeft();
  output.progress(`${numberInWords(toDo)} webhooks have secrets to seal again.`);
  const done = await reseal.run(({ resealed }) =>
    output.progress(`${numberInWords(resealed)} of ${numberInWords(toDo)} sealed again`),
  );
  if (done.problems.length > 0) return done;
  const again = await reseal.run(() => undefined);
  return { ...again, resealed: done.resealed + again.resealed };
}

function conclude(
  { left }: Found,
  { resealed, problems }: ResealProgress,
  replicas: readonly ReplicaKeys[],
  vault: Vault,
  output: Output,
): ExitCode {
  output.say(`${numberInWords(resealed)} webhooks were sealed again.`);
  for (const { endpointId, integration, reason } of problems)
    output.say(`Webhook ${endpointId} of ${integration} could not be sealed again: ${reason}.`);
  const behind = replicas.filter(([first]) => first?.id !== vault.keyIds[0]).length;
  if (behind > 0)
    output.say(
      `${behind} of ${replicas.length} replicas of webhooks still seal with another key: ` +
        'put the new key first in WEBHOOK_SECRET_KEY of every replica, then run this again.',
    );
  if (problems.length > 0)
    output.say(
      'Run this again with the keys that are missing. Once a key is lost, the integrations of these webhooks must rotate the ' +
        'secrets and set the headers again.',
    );
  return left > 0 || behind > 0 ? exitCodes.wrong : exitCodes.well;
}
