// A process or server that a file of tests started and did not end would go on beside the files after it,
// take their time and look like theirs. So each file is checked after its last hook. A process that is left, as after a test
// that timed out, is killed: it would also keep the run from ending, because it has the worker's stderr.
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { withDescendants } from '../../dev/process/family.ts';

/** Node's names of the resources that keep a process from ending. */
const kinds = new Map([
  ['ProcessWrap', 'processes'],
  ['TCPServerWrap', 'servers'],
  ['PipeServerWrap', 'servers of a pipe'],
  ['TCPSocketWrap', 'connections'],
  ['TLSWrap', 'connections with TLS'],
  ['MessagePort', 'threads'],
  ['FSEventWrap', 'watches of files'],
]);

/** A resource that a test has just closed may take a moment to end. */
const endsWithinMs = 5_000;
const lookEveryMs = 20;

function countOpen(): Map<string, number> {
  const open = process.getActiveResourcesInfo();
  return new Map([...kinds.keys()].map((kind) => [kind, open.filter((one) => one === kind).length]));
}

const before = countOpen();

function killDescendants(): void {
  for (const pid of withDescendants([process.pid])) {
    if (pid === process.pid) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended meanwhile, as the `ps` that listed it.
    }
  }
}

afterAll(async () => {
  const endsAt = performance.now() + endsWithinMs;
  for (;;) {
    const left = [...countOpen()]
      .map(([kind, count]) => ({ name: kinds.get(kind), more: count - (before.get(kind) ?? 0) }))
      .filter(({ more }) => more > 0);
    if (left.length === 0) return;
    if (performance.now() > endsAt) {
      killDescendants();
      const words = left.map(({ name, more }) => `${more} ${name}`).join(', ');
      throw new Error(`the tests of this file are over, and these are still open: ${words}`);
    }
    await wait(lookEveryMs);
  }
}, 2 * endsWithinMs);
