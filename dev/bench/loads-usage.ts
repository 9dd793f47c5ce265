// Imported before a program: as its last deed, the program writes what it took.
import { readFileSync, writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  // `maxRSS` is of no use here: Linux begins it with what the parent of a process had.
  const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const usage = { cpuMs: (userCPUTime + systemCPUTime) / 1_000, residentMb: Number(kilobytes) / 1_024 };
  writeFileSync(process.env['USAGE_FILE'] ?? '', JSON.stringify(usage));
});
