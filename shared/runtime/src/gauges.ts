// Gauges whose values are read on each scrape.
import { setTimeout as wait } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

/** How long a read may take: less than the time-outs of a liveness probe for the metrics (3 s) and of a scrape (10 s). */
const readMs = 2_000;

/** Resolves as `read`; with `otherwise` if `read` fails or takes too long, so that one gauge does not make the scrape fail. */
export function readInTime<T, Otherwise>(
  read: () => T | Promise<T>,
  otherwise: Otherwise,
): Promise<T | Otherwise> {
  const late = wait(readMs, otherwise, { ref: false });
  return Promise.race([Promise.try(read).catch(() => otherwise), late]);
}

export const gaugesOf =
  (registry: Registry) =>
  (name: string, help: string, read: () => number | Promise<number>): void => {
    const gauge = new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        gauge.set(await readInTime(read, Number.NaN));
      },
    });
  };

type ByLabel = Iterable<readonly [value: string, count: number]>;

/** Opens a gauge with one value for each value of a label. */
export function gaugeByLabel(
  registry: Registry,
  {
    read,
    label,
    ...gauged
  }: { name: string; help: string; label: string; read: () => ByLabel | Promise<ByLabel> },
): void {
  const gauge = new Gauge({
    ...gauged,
    labelNames: [label],
    registers: [registry],
    async collect() {
      const counts = await read();
      gauge.reset();
      for (const [value, count] of counts) gauge.set({ [label]: value }, count);
    },
  });
}
