// Tells operators when a collector takes no spans, and when it takes them again: one line each.
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { Log } from '../log.ts';

export function reporting(exporter: SpanExporter, log: Log): SpanExporter {
  let lost = 0;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error !== undefined && lost === 0) {
          log.warn({ err: error }, 'the collector takes no spans, and they are dropped');
        } else if (error === undefined && lost > 0) {
          log.info({ lost }, 'the collector takes spans again');
          lost = 0;
        }
        if (error !== undefined) lost += spans.length;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  };
}
