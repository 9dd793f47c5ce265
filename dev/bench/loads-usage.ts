// Imported before a program, whose processor time and memory it writes to USAGE_FILE when the program exits.
import { readFileSync, writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  // `maxRSS` would be wrong: Linux starts it with the memory of the parent process.
  const [, kilobytes] = /^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
  const usage = { cpuMs: (userCPUTime + systemCPUTime) / 1_000, residentMb: Number(kilobytes) / 1_024 };
  writeFileSync(process.env['USAGE_FILE'] ?? '', JSON.stringify(usage));
});
