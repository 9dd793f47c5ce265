// The NATS account of a reader that may read one integration only, as text for deploy/nats/nats.conf. Pure.
import { eventsStream, pinnableSubjects, pinnedSubject, services } from '@integration-sync/contracts';
import { Misuse } from './command.ts';

/** The accounts of nats.conf. A second account READER would replace the account that reads every event: nats-server takes the last one. */
const taken = new Set([...services, 'sync', 'reader', 'ops', 'operator'].map((name) => name.toUpperCase()));

const ofEvents = (subject: string, response = '') => ({ exporter: 'SYNC', subject, response });

/** Lines for the existing accounts, and the account of the reader: a login receives only what its account imports. */
export function accountOf(name: string, integration: string): string {
  const account = name.toUpperCase().replaceAll('-', '_');
  if (taken.has(account)) throw new Misuse(`NAME: ${account} is another account of deploy/nats/nats.conf.`);
  const consumer = [
    // With this import nats-server answers about the streams of the system. The account of the reader has no streams.
    ofEvents('$JS.API.INFO'),
    ofEvents(`$JS.API.CONSUMER.INFO.${eventsStream}.${name}`),
    ofEvents(`$JS.API.CONSUMER.MSG.NEXT.${eventsStream}.${name}`, ', response_type: stream'),
    ofEvents(`$JS.ACK.${eventsStream}.${name}.>`),
  ];
  const listings = pinnableSubjects.map((subject) => ({
    exporter: (subject.split('.')[1] ?? '').toUpperCase(),
    subject: pinnedSubject(subject, integration),
    response: '',
  }));
  const all = [...consumer, ...listings];
  const exportsOf = (exporter: string): string[] => [
    '',
    `# into the exports of ${exporter}:`,
    ...all
      .filter((one) => one.exporter === exporter)
      .map(({ subject, response }) => `{ service: "${subject}", accounts: ["${account}"]${response} }`),
  ];
  return [
    '# For deploy/nats/nats.conf. First have all replicas of catalog and batches serve these subjects (a release after 1.1.0).',
    '# Set the password above the accounts, because a reload of nats-server reads no new variables of its environment:',
    `# NATS_${account}_PASSWORD: "…"`,
    '# Then reload nats-server twice, a second apart: after only one reload nats-server finds no subject of the imports.',
    ...[...new Set(all.map(({ exporter }) => exporter))].flatMap(exportsOf),
    '',
    '# into the accounts:',
    `"${account}" {`,
    `  users: [ { user: "${name}", password: $NATS_${account}_PASSWORD } ]`,
    '  imports: [',
    ...all.map(({ exporter, subject }) => `    { service: { account: ${exporter}, subject: "${subject}" } }`),
    '  ]',
    '}',
  ].join('\n');
}
