// The accounts of deploy/nats/nats.conf let each route and each kind of event through. A component test asks nats-server what the
// logins may do beyond that.
import { announcedKinds, eventKinds, mayAnnounce, routes } from '@integration-sync/contracts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repository } from '../../support/deploy-files.ts';

const conf = await readFile(join(repository, 'deploy/nats/nats.conf'), 'utf8');
const blocks = new Map(
  Array.from(conf.matchAll(/^ {2}([A-Z]+) \{$(.*?)^ {2}\}$/gms), ([, name = '', text = '']) => [name, text]),
);

/** Whether the filter of NATS has the subject. */
const takes = (filter: string, subject: string): boolean =>
  new RegExp(
    `^${filter
      .replaceAll('.', String.raw`\.`)
      .replaceAll('*', '[^.]+')
      .replace(/>$/, '.+')
      .replaceAll('$', String.raw`\$`)}$`,
  ).test(subject);

const exported = (from: string, to: string, subject: string): boolean =>
  [...(blocks.get(from) ?? '').matchAll(/\{ service: "([^"]+)", accounts: \[([^\]]+)\]/g)].some(
    ([, filter = '', accounts = '']) => accounts.split(/,\s*/).includes(to) && takes(filter, subject),
  );
const imported = (by: string, from: string, subject: string): boolean =>
  [...(blocks.get(by) ?? '').matchAll(/\{ service: \{ account: (\w+), subject: "([^"]+)" \}/g)].some(
    ([, account, filter = '']) => account === from && takes(filter, subject),
  );

/** The links of two accounts that nats.conf lacks for a subject. */
const lacks = (from: string, to: string, subject: string): string[] => [
  ...(exported(from, to, subject) ? [] : [`${from} does not export ${subject} to ${to}`]),
  ...(imported(to, from, subject) ? [] : [`${to} does not import ${subject} of ${from}`]),
];

it('nats.conf lets the gateway send requests on the subject of each route', () => {
  expect(
    routes.flatMap(({ subject }) => lacks(subject.split('.')[1]?.toUpperCase() ?? '', 'GATEWAY', subject)),
  ).toEqual([]);
});

it('nats.conf lets each service publish the kinds of events that it announces, and no other kinds', () => {
  for (const service of Object.keys(announcedKinds)) {
    const mayPublish = eventKinds.filter(
      (kind) => lacks('SYNC', service.toUpperCase(), `events.acme.${kind}`).length === 0,
    );
    expect([service, mayPublish]).toEqual([service, eventKinds.filter((kind) => mayAnnounce(service, kind))]);
  }
});

it('the check of nats.conf finds an absent export or import of a subject', () => {
  expect(lacks('CATALOG', 'GATEWAY', 'svc.catalog.nowhere.list')).toEqual([
    'CATALOG does not export svc.catalog.nowhere.list to GATEWAY',
    'GATEWAY does not import svc.catalog.nowhere.list of CATALOG',
  ]);
});
