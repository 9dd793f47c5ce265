// Says which engines answer: an image or program of MongoDB's name may be FerretDB, and the processes of engines that
// the benchmark did not start cannot be measured.
import type { Store } from '@integration-sync/runtime/store';
import type { Engines } from '../engines/index.ts';

export async function describeEngines(
  engines: Engines,
  { database }: Pick<Store, 'database'>,
): Promise<string[]> {
  const { version, ferretdb } = await database.command({ buildInfo: 1 });
  const answers =
    ferretdb === undefined
      ? `MongoDB ${version} answers.`
      : `FerretDB ${ferretdb.version ?? ''} answers in MongoDB's place: with a real MongoDB, figures differ.`;
  const unseen = [engines.mongodb, engines.nats].filter((engine) => engine.pids().length === 0);
  return [
    answers,
    ...unseen.map(
      ({ name }) => `The processes of ${name} are unknown: on this machine they count as other work.`,
    ),
  ];
}
