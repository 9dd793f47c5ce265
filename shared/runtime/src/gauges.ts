// Gauges whose values are read on each scrape.
import { Gauge, type Registry } from 'prom-client';

export const gaugesOf =
  (registry: Registry) =>
  (name: string, help: string, read: () => number | Promise<number>): void => {
    const gauge = new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        // A gauge that cannot be read must not make the whole scrape fail.
        gauge.set(await Promise.resolve(read()).catch(() => Number.NaN));
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
