// Imported before a program: as its last deed, the program writes what it took.
import { writeFileSync } from 'node:fs';

process.on('exit', () => {
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const usage = { cpuMs: (userCPUTime + systemCPUTime) / 1_000, residentMb: maxRSS / 1_024 };
  writeFileSync(process.env['USAGE_FILE'] ?? '', JSON.stringify(usage));
});
