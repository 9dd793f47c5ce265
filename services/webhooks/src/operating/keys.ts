// Which keys the replicas have, and whether these keys open the stored secrets. A replica cannot use a secret that is sealed with
// a key that it lacks, so an operator's command asks all replicas before it seals secrets again.
import { keysSubject } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import { ConfigError } from '@integration-sync/runtime/config';
import type { Filter, Store } from '@integration-sync/runtime/store';
import { type Endpoint, headersSealedFor, servingSecrets } from '../endpoints/endpoint.ts';
import { endpointsCollection } from '../endpoints/endpoint-store.ts';
import { keyIdOf, UnknownKey, type Vault } from '../secrets/vault.ts';

/** The ids and fingerprints of one replica's keys; the key that seals comes first. */
export type ReplicaKeys = Readonly<Vault['fingerprints']>;

export const tellKeys = (
  bus: Pick<Bus, 'answerAll'>,
  { fingerprints }: Pick<Vault, 'fingerprints'>,
): Disposable => bus.answerAll(keysSubject, () => JSON.stringify(fingerprints));

const answersMs = 1_000;

/** One entry for each replica that answers; replicas of an old release do not answer. */
export async function askKeys(bus: Pick<Bus, 'askAll'>): Promise<ReplicaKeys[]> {
  const answers = await bus.askAll(keysSubject, answersMs);
  return answers.map((answer): ReplicaKeys => JSON.parse(Buffer.from(answer).toString()));
}

/** Matches secrets that one of these keys sealed. No id has a character that regular expressions treat specially. */
export const sealedWith = (keyIds: readonly string[]): RegExp => new RegExp(`^(${keyIds.join('|')}):`);

export const ofSecrets = (
  sealed: RegExp | { $not: RegExp },
  ofPrevious: { expiresAt?: { $gt: Date } } = {},
): Filter<Endpoint> => ({
  $or: [
    { secret: sealed },
    { previousSecrets: { $elemMatch: { sealed, ...ofPrevious } } },
    { $and: [{ headers: { $exists: true } }, { headers: sealed }] },
  ],
});

/** Throws if the configured keys do not open the stored secrets: a start fails, instead of each delivery. */
export async function checkKeys(vault: Vault, store: Pick<Store, 'collection'>): Promise<void> {
  const endpoints = store.collection<Endpoint>(endpointsCollection);
  const inUse = { expiresAt: { $gt: new Date() } };
  const problems: string[] = [];
  for (const keyId of vault.keyIds) {
    const sealed = await endpoints.findOne(ofSecrets(sealedWith([keyId]), inUse));
    if (sealed === null || inUseOf(sealed).every((secret) => opens(vault, secret))) continue;
    problems.push(
      `WEBHOOK_SECRET_KEY: expected the key "${keyId}" that sealed the stored secrets, got other bytes under this id`,
    );
  }
  const known = [...vault.keyIds, ...vault.lostIds];
  const foreign = await endpoints.findOne(ofSecrets({ $not: sealedWith(known) }, inUse));
  if (foreign !== null) {
    const keyIds = inUseOf(foreign).map(({ sealed }) => keyIdOf(sealed));
    const keyId = keyIds.find((id) => !known.includes(id)) ?? '';
    problems.push(
      `WEBHOOK_SECRET_KEY: expected the key "${keyId}" as well, which sealed stored secrets, got ${vault.keyIds.join(', ')}; ` +
        `if nobody has that key any more, add ${keyId}:lost`,
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

/** The endpoint's sealed secrets and headers, each with the text that the vault bound it to. */
export const secretsOf = ({ _id, secret, previousSecrets = [], headers }: SealedParts) => [
  ...[secret, ...previousSecrets.map(({ sealed }) => sealed)].map((sealed) => ({ sealed, boundTo: _id })),
  ...(headers === undefined ? [] : [{ sealed: headers, boundTo: headersSealedFor(_id) }]),
];

type SealedParts = Pick<Endpoint, '_id' | 'secret' | 'previousSecrets' | 'headers'>;

/** The endpoint's secrets with which deliveries may be signed now, and its headers. */
const inUseOf = (endpoint: Endpoint) =>
  secretsOf({ ...endpoint, previousSecrets: servingSecrets(endpoint, Date.now()) });

/** Whether the vault can open a secret. True also without the key, because `checkKeys` reports a missing key separately. */
function opens(vault: Vault, { sealed, boundTo }: ReturnType<typeof secretsOf>[number]): boolean {
  try {
    vault.open(sealed, boundTo);
    return true;
  } catch (error) {
    return error instanceof UnknownKey;
  }
}
