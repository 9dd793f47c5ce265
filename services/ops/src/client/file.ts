// Reads the file of clients, and replaces the file whole, unless another command has changed the file meanwhile.
import { chmod, chown, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import {
  ClientsRefused,
  parseClients,
  readClientsFile,
  reasonOf,
  type Client,
} from '@integration-sync/gateway/operating';
import { Refusal } from '../command.ts';

/** Only the user who runs the command may read a new file; an existing file keeps its owner and its mode. */
const newMode = 0o600;

export type ReadFile = Awaited<ReturnType<typeof readFile>>;

/** `bytes` is undefined if the file does not exist yet. */
export async function readFile(path: string) {
  const bytes = await readBytes(path);
  try {
    return { clients: bytes === undefined ? [] : parseClients(bytes), bytes };
  } catch (error) {
    if (error instanceof ClientsRefused) throw refusalOf(path, error);
    throw error;
  }
}

async function readBytes(path: string): Promise<Buffer | undefined> {
  try {
    return await readClientsFile(path);
  } catch (error) {
    if (!(error instanceof ClientsRefused)) throw error;
    const { cause } = error;
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw refusalOf(path, error);
  }
}

const refusalOf = (path: string, cause: ClientsRefused): Refusal =>
  new Refusal(`Nothing was changed: ${path}: ${cause.message}.`, undefined, { cause });

export async function replaceFile(path: string, before: ReadFile, clients: readonly Client[]): Promise<void> {
  // If the path is a symbolic link, its target is replaced: the gateway may open the file by another path.
  const file = before.bytes === undefined ? path : await realpath(path).catch(() => path);
  // A file has one draft, which is also its lock: the rename that replaces the file releases the lock.
  const draft = `${file}.draft`;
  try {
    await writeFile(draft, textOf(clients), { mode: newMode, flush: true, flag: 'wx' });
    if (before.bytes !== undefined) {
      // The gateway may run as another user. A gateway that cannot read the new file would go on accepting a removed secret.
      const stats = await stat(file);
      await chown(draft, stats.uid, stats.gid);
      await chmod(draft, stats.mode & 0o777);
    }
    const now = await readBytes(path);
    if (now?.toString() !== before.bytes?.toString()) {
      throw new Refusal(`Nothing was changed: another command has changed ${path}. Run this one again.`);
    }
    await rename(draft, file);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') {
      throw new Refusal(
        `Nothing was changed: another command is changing ${path}. Run this one again; if no other runs, remove ${draft} first.`,
      );
    }
    await rm(draft, { force: true }).catch(() => undefined);
    if (error instanceof Refusal) throw error;
    throw new Refusal(
      `Nothing was changed: ${path} cannot be replaced (${reasonOf(error)}). The command writes a new file beside it and ` +
        'renames the new file; if the file is mounted read-only, change it at its source.',
      undefined,
      { cause: error },
    );
  }
}

function textOf(clients: readonly Client[]): string {
  const entries = clients.map(({ id, integration, scopes, secrets }) => ({
    id,
    integration,
    scope: scopes.join(' '),
    secrets: secrets.map(({ name, sha256, endsAtMs }) => ({
      ...(name === undefined ? {} : { name }),
      sha256,
      ...(endsAtMs === Infinity ? {} : { expiresAt: new Date(endsAtMs).toISOString() }),
    })),
  }));
  return `${JSON.stringify(entries, null, 2)}\n`;
}
