// Which keys the replicas have. What is sealed with a key that one of them lacks it can no longer sign with, so an
// operator's command asks all of them before it seals anything again.
import { keysSubject } from '@integration-sync/contracts';
import type { Bus } from '@integration-sync/runtime/bus';
import type { KeyMark, Vault } from '../secrets/vault.ts';

/** Of one replica, the key that it seals with first. */
export type ReplicaKeys = readonly KeyMark[];

export const tellKeys = (bus: Pick<Bus, 'answerAll'>, { marks }: Pick<Vault, 'marks'>): Disposable =>
  bus.answerAll(keysSubject, () => JSON.stringify(marks));

const answersMs = 1_000;

/** One entry for each replica that answers. Those of a release before this one do not. */
export async function askKeys(bus: Pick<Bus, 'askAll'>): Promise<ReplicaKeys[]> {
  const answers = await bus.askAll(keysSubject, answersMs);
  return answers.map((answer): ReplicaKeys => JSON.parse(Buffer.from(answer).toString()));
}
