// deploy/nats/nats.conf with the account of a reader that is held to one integration, put in as `ops reader --integration`
// says.
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connect, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node';
import { accountOf } from '../../services/ops/src/reader-account.ts';
import { temporaryFolder } from './folder.ts';
import { natsConfFile, type NatsWithUsers } from './nats-users.ts';

export interface NarrowedConf extends AsyncDisposable {
  readonly path: string;
  connect(
    nats: NatsWithUsers,
    options?: NodeConnectionOptions,
  ): Promise<AsyncDisposable & { readonly nats: NatsConnection }>;
}

export async function narrowedConf(name: string, integration: string): Promise<NarrowedConf> {
  const folder = await temporaryFolder();
  const pass = `p${randomBytes(12).toString('hex')}`;
  const [head = '', ...parts] = accountOf(name, integration).split(
    /^# into the (?=exports of \w+:$|accounts:$)/m,
  );
  const [variable] = /NATS_\w+(?=: "…"$)/m.exec(head) ?? [];
  let conf = `${variable}: "${pass}"\n${await readFile(natsConfFile, 'utf8')}`;
  for (const part of parts) {
    const [, owner, lines = ''] = /^(?:exports of (\w+)|accounts):\n(.*)$/s.exec(part) ?? [];
    const place =
      owner === undefined ? /^accounts \{\n/m : new RegExp(`^  ${owner} \\{\n.*?exports: \\[\n`, 'ms');
    conf = conf.replace(place, (before) => `${before}${lines}\n`);
  }
  const path = join(folder.path, 'nats.conf');
  await writeFile(path, conf);
  return {
    path,
    async connect({ engine }, options = {}) {
      const login = { user: name, pass, inboxPrefix: `_INBOX_${name}` };
      const nats = await connect({ servers: engine.url, ...login, ...options });
      return { nats, [Symbol.asyncDispose]: () => nats.close() };
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}
