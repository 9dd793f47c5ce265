// What the services of a storm run: their source files, unless the starter of the storm names other programs.
import { mainOf, type Service } from '../stack/services.ts';

/** `STORM_PROGRAMS`: JSON, a file for node by service. A test run has bundled each service into one file. */
export function programOf(service: Service): string {
  const programs: Partial<Record<Service, string>> = JSON.parse(process.env['STORM_PROGRAMS'] || '{}');
  return programs[service] ?? mainOf(service);
}
