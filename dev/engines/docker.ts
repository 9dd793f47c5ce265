// Docker itself: whether it answers, whether it has an image, and which containers and volumes killed starters have left.
import { createHash, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { getContainerRuntimeClient } from 'testcontainers';
import { readText, writeWhole } from '../process/files.ts';
import { identify, runs } from '../process/identity.ts';
import { messageOf } from '../process/words.ts';
import { labels } from './choice.ts';
import { NotServed } from './engine.ts';
import type { RowContext } from './row.ts';

export type Client = Awaited<ReturnType<typeof getContainerRuntimeClient>>;

const answerMsMax = 5_000;
/** How long a pull may go without progress; the pull as a whole may take longer. */
const silenceMsMax = 20_000;

const help = 'install Docker, or start it';

export async function findDocker({ cache }: RowContext): Promise<Client> {
  const late = wait(answerMsMax, undefined, { ref: false, signal: cache.signal }).then(() => {
    throw new NotServed(`Docker does not answer within ${answerMsMax / 1_000} s`, help);
  });
  try {
    return await Promise.race([getContainerRuntimeClient(), late]);
  } catch (error) {
    cache.signal.throwIfAborted();
    if (error instanceof NotServed) throw error;
    throw new NotServed('Docker does not answer', help, error);
  }
}

export async function pullImage({ cache, name }: RowContext, client: Client, image: string): Promise<void> {
  const { dockerode } = client.container;
  if (await hasImage(client, image)) return;
  const what = `${labels[name]}: pulling ${image}`;
  cache.progress.say(what);
  const stalled = new AbortController();
  const giveUp = (): void =>
    stalled.abort(new Error(`Docker reported no progress for ${silenceMsMax / 1_000} s`));
  const patience = setTimeout(giveUp, silenceMsMax);
  try {
    const abortSignal = AbortSignal.any([cache.signal, stalled.signal]);
    const stream = await dockerode.pull(image, { abortSignal });
    await cache.progress.during(what, (note) => {
      const end = Promise.withResolvers<void>();
      dockerode.modem.followProgress(
        stream,
        (error) => (error === null ? end.resolve() : end.reject(error)),
        (event: { id?: string; status?: string }) => {
          patience.refresh();
          note(`${event.id ?? ''} ${event.status ?? ''}`);
        },
      );
      return end.promise;
    });
  } catch (error) {
    cache.signal.throwIfAborted();
    const why = messageOf(stalled.signal.aborted ? stalled.signal.reason : error);
    throw new NotServed(`Docker cannot pull ${image}: ${why.slice(0, 200)}`, `pull ${image} yourself`, error);
  } finally {
    clearTimeout(patience);
  }
}

async function hasImage({ container }: Client, image: string): Promise<boolean> {
  try {
    await container.dockerode.getImage(image).inspect();
    return true;
  } catch {
    return false;
  }
}

/** The labels tell, years later too, which starter made a container and for which data. */
export function labelsOf({ dataFolder }: RowContext): Record<string, string> {
  const starter = { host: hostname(), ...identify(process.pid) };
  return { [starterLabel]: JSON.stringify(starter), [dataLabel]: dataFolder };
}

const starterLabel = 'integration-sync.starter';
const dataLabel = 'integration-sync.data-folder';
const hostLabel = 'integration-sync.host';

/** Removes the containers whose starter was killed. Resolves with their images. */
export async function removeAbandonedContainers({ container: { dockerode } }: Client): Promise<string[]> {
  const removed: string[] = [];
  for (const info of await dockerode.listContainers({ all: true, filters: { label: [starterLabel] } })) {
    if (!isAbandoned(info.Labels[starterLabel])) continue;
    try {
      await removeContainer(dockerode, info.Id);
      removed.push(info.Image);
    } catch {
      // Another process is removing the container at the same time.
    }
  }
  return removed;
}

/** Containers for this data. No other process works on the data, so the containers are left from a failed start. */
export async function removeContainersOf(
  { dataFolder }: RowContext,
  { container: { dockerode } }: Client,
): Promise<void> {
  const filters = { label: [`${dataLabel}=${dataFolder}`] };
  for (const info of await dockerode.listContainers({ all: true, filters }))
    await removeContainer(dockerode, info.Id);
}

const removeContainer = (dockerode: Client['container']['dockerode'], id: string): Promise<void> =>
  dockerode.getContainer(id).remove({ force: true, v: true });

function isAbandoned(label: string | undefined): boolean {
  const [, host, pid, begunAt] =
    /^\{"host":"([^"]*)","pid":(\d+),"begunAt":"([^"]*)"\}$/.exec(label ?? '') ?? [];
  if (host !== hostname() || begunAt === undefined) return false;
  return !runs({ pid: Number(pid), begunAt });
}

/**
 * The data folder has a file with the name of its volume. If a person removes the folder, the next start creates a new
 * volume and removes the old one.
 */
export async function openVolume({ dataFolder }: RowContext, client: Client): Promise<string> {
  const { dockerode } = client.container;
  const note = join(dataFolder, 'volume');
  const digest = createHash('sha256').update(dataFolder).digest('hex').slice(0, 12);
  const volume = readText(note)?.trim() || `integration-sync-${digest}-${randomUUID().slice(0, 8)}`;
  // The name is written before the volume is created: a start removes volumes that no data folder names.
  writeWhole(note, `${volume}\n`);
  await dockerode.createVolume({
    Name: volume,
    Labels: { [hostLabel]: hostname(), [dataLabel]: dataFolder },
  });
  return volume;
}

export async function removeVolume({ container: { dockerode } }: Client, volume: string): Promise<void> {
  await dockerode.getVolume(volume).remove();
}

/** Volumes that no data folder names any more: a person has removed the folder, so the data may go. */
export async function removeAbandonedVolumes({ container: { dockerode } }: Client): Promise<void> {
  const { Volumes: volumes } = await dockerode.listVolumes({
    filters: { label: [`${hostLabel}=${hostname()}`] },
  });
  for (const { Name: name, Labels: labelled } of volumes) {
    const dataFolder = labelled[dataLabel];
    if (dataFolder === undefined || isNamed(name, dataFolder)) continue;
    // A container that is about to end may still use the volume; then the next start removes the volume.
    await dockerode
      .getVolume(name)
      .remove()
      .catch(() => undefined);
  }
}

/** A folder that this process may not read is that of another user, and counts as naming the volume. */
function isNamed(volume: string, dataFolder: string): boolean {
  try {
    return readText(join(dataFolder, 'volume'))?.trim() === volume;
  } catch {
    return true;
  }
}
