// promtool of Prometheus: that on PATH, or else the one of Debian's package, in the cache of this machine.
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const cache = join(homedir(), '.cache/integration-sync-service');
const kept = join(cache, 'promtool');

/** The path of promtool; undefined where this machine has none and its apt gives none. */
export async function findPromtool(): Promise<string | undefined> {
  for (const path of ['promtool', kept]) {
    const isThere = await run(path, ['--version']).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  return downloaded().catch(() => undefined);
}

/** Takes promtool out of the package, without installing it. */
async function downloaded(): Promise<string> {
  await mkdir(cache, { recursive: true });
  const cwd = await mkdtemp(join(cache, 'prometheus-'));
  try {
    await run('sh', ['-c', 'apt-get download prometheus && dpkg-deb --extract prometheus_*.deb .'], {
      cwd,
      timeout: 60_000,
    });
    await rename(join(cwd, 'usr/bin/promtool'), kept);
    await access(kept);
    return kept;
  } finally {
    await rm(cwd, { recursive: true });
  }
}
