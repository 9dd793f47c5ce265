// Bounds connections by the limit of open files, of which the gateway keeps some for itself. It closes further connections and
// logs their number. Without this bound they would be closed without a log line, for lack of files.
import type { Server } from 'node:http';
import type { Log } from '@integration-sync/runtime/log';

/** How many files are reserved for NATS, metrics, name look-ups, log and modules. An idle gateway has 40 to 60 open files. */
const reservedFiles = 128;
const logEveryMs = 10_000;

/** How many connections of callers the limit of open files allows (`ulimit -n`). */
export function connectionsWithinFiles(): number {
  // The report of Node excludes network facts: for them it would look up the host names of all connected peers, which takes long.
  Object.assign(process.report, { excludeNetwork: true });
  const found: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = found.userLimits?.open_files?.soft;
  // The limit is not known on Windows.
  const filesMax = typeof soft === 'number' ? soft : Infinity;
  return Math.max(1, filesMax - reservedFiles, Math.floor(filesMax / 2));
}

export function boundConnections(server: Server, connectionsMax: number, log: Log): void {
  server.maxConnections = connectionsMax;
  let loggedAt = -Infinity;
  let refused = 0;
  server.on('drop', () => {
    refused += 1;
    const at = performance.now();
    if (at - loggedAt < logEveryMs) return;
    log.error(
      { connectionsMax, refused },
      'connections refused, as the limit of open files allows no more; raise the limit (ulimit -n), or add a replica',
    );
    loggedAt = at;
    refused = 0;
  });
}
