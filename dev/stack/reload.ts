// npm start -- --watch: a service is restarted when its sources change, and all services when shared sources change.
import { readdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../process/words.ts';
import { serviceNames, type Service } from './services.ts';

export interface ReloadOptions {
  /** The folder that holds `services/`, `shared/` and `console/`. */
  root: string;
  /** Restarts a service; resolves once all its replicas run again. */
  restart: (service: Service) => Promise<void>;
  say: (line: string) => void;
}

/** Changes within this time cause one restart: an editor writes a file in several steps, a checkout writes many files. */
const quietMs = 200;

export function reloadOnChange({ root, restart, say }: ReloadOptions): Disposable {
  const changed = new Set<Service>();
  let timer: NodeJS.Timeout | undefined;
  let restarting = Promise.resolve();

  const restartChanged = async (): Promise<void> => {
    const services = [...changed];
    changed.clear();
    say(`Changed: restarting ${services.join(', ')} …`);
    const restarts = await Promise.allSettled(services.map((service) => restart(service)));
    for (const [index, one] of restarts.entries()) {
      if (one.status === 'rejected') say(`${services[index]} does not start: ${messageOf(one.reason)}`);
    }
    if (restarts.every(({ status }) => status === 'fulfilled')) say(`Restarted ${services.join(', ')}.`);
  };

  const onChange = (services: readonly Service[], file: string | null): void => {
    if (file === null || !/\.(?:tsx?|css|html|svg)$/.test(file)) return;
    for (const service of services) changed.add(service);
    clearTimeout(timer);
    timer = setTimeout(() => {
      restarting = restarting.then(restartChanged);
    }, quietMs);
  };

  const watchers = [
    // The gateway serves the console, so it restarts when the console changes.
    [join(root, 'console/src'), ['gateway']] as const,
    ...serviceNames.map((service) => [join(root, 'services', service, 'src'), [service]] as const),
    ...readdirSync(join(root, 'shared')).map(
      (room) => [join(root, 'shared', room, 'src'), serviceNames] as const,
    ),
  ].map(([folder, services]) =>
    watch(folder, { recursive: true }, (_event, file) => onChange(services, file)),
  );
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      for (const watcher of watchers) watcher.close();
    },
  };
}
