import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRandom } from '../../../dev/fuzz/random.ts';
import { repositoryFolder } from '../../../dev/stack/services.ts';
import { fieldNames } from '../../../dev/storm/check/fields.ts';
import { breakages, brokenText } from '../../../dev/storm/breakages/list.ts';
import { planEndpoints, react } from '../../../dev/storm/endpoints.ts';
import { answersLostMs, planFaults, targets, type PlannedFault } from '../../../dev/storm/fault.ts';
import { drawItem, spoilItem } from '../../../dev/storm/items.ts';
import { plurals } from '../../../dev/storm/lines.ts';
import { parseStormOptions } from '../../../dev/storm/options.ts';
import { profiles } from '../../../dev/storm/profile.ts';
import { openOwnIds } from '../../../dev/storm/own-ids.ts';

const faultsOf = (seed: number, count = 300): PlannedFault[] =>
  planFaults(openRandom(seed), profiles.usual).take(count).toArray();

it('npm run storm plans the same faults for the same seed, and other faults for another seed', () => {
  expect(faultsOf(7)).toEqual(faultsOf(7));
  expect(faultsOf(7)).not.toEqual(faultsOf(8));
});

it('npm run storm plans each fault for each process, and stops no process for more than 20 s', () => {
  const faults = faultsOf(7);
  expect(new Set(faults.map(({ target }) => target))).toEqual(new Set(targets));
  expect(new Set(faults.map(({ kind }) => kind))).toEqual(new Set(['kill', 'stop', 'end']));
  const stops = faults.filter(({ kind }) => kind === 'stop');
  expect(stops.every(({ forMs }) => forMs >= 1_000 && forMs <= 20_000)).toBe(true);
});

it('npm run storm plans for how long a proxy loses answers before it ends, and no duration for other ends and kills', () => {
  const others = faultsOf(7).filter(({ kind }) => kind !== 'stop');
  const losing = others.filter(({ target, kind }) => kind === 'end' && /-(?:nats|mongodb)$/.test(target));
  expect(new Set(losing.map(({ forMs }) => forMs))).toEqual(new Set([answersLostMs]));
  const gone = others.filter((fault) => !losing.includes(fault));
  expect(new Set(gone.map(({ forMs }) => forMs))).toEqual(new Set([0]));
});

it('npm run storm --profile owners injects faults only into webhooks and its proxies', () => {
  const faults = planFaults(openRandom(7), profiles.owners).take(300);
  expect(new Set(faults.map(({ target }) => target))).toEqual(
    new Set(['webhooks', 'webhooks-nats', 'webhooks-mongodb']),
  );
});

it('npm run storm takes its options, and refuses others', () => {
  expect(parseStormOptions(['--seed', '9', '--seconds', '60', '--profile', 'late'])).toMatchObject({
    seed: 9,
    seconds: 60,
    profile: 'late',
  });
  expect(() => parseStormOptions(['--profile', 'mild'])).toThrow('--profile takes one of usual, late, brief');
  expect(() => parseStormOptions(['--seconds', '1'])).toThrow('--seconds takes a number from 5 to 3600');
});

it('npm run storm -- breakages takes names of deliberate bugs', () => {
  expect(parseStormOptions([]).breakages).toBeUndefined();
  expect(parseStormOptions(['breakages', 'push-504']).breakages).toEqual(['push-504']);
  expect(() => parseStormOptions(['breakage'])).toThrow('there is no command "breakage"');
});

it.each(breakages)('the deliberate bug $name replaces exactly one line of the code', async (breakage) => {
  const text = await readFile(join(repositoryFolder, breakage.file), 'utf8');
  const broken = brokenText(breakage, text);
  expect(broken).toContain(breakage.replace);
  expect(() => brokenText(breakage, `${text}${text}`)).toThrow('must have this line exactly once');
  expect(() => brokenText(breakage, '')).toThrow('must have this line exactly once');
});

it('npm run storm with a deliberate bug takes 90 s at most, and injects no faults where faults would excuse the bug', () => {
  // The start and the check take some 20 s of the two minutes.
  expect(breakages.filter(({ seconds }) => seconds > 90)).toEqual([]);
  const forgiven = breakages.filter(({ found }) => found === 'disabling');
  expect(forgiven.map(({ without }) => without)).toEqual([expect.arrayContaining(['faults'])]);
});

it('npm run storm does not push an id again after several cut-off pushes of the id', () => {
  const ids = openOwnIds('p-s');
  const random = openRandom(1);
  const id = ids.fresh();
  expect(ids.drawKnown(random)).toBe(id);
  for (let cut = 0; cut < 4; cut += 1) ids.cutOff(id);
  expect(ids.drawKnown(random)).not.toBe(id);
});

it('npm run storm references only accepted records that no cut-off push may have changed', () => {
  const ids = openOwnIds('p-s');
  expect(() => ids.drawAccepted(openRandom(1))).toThrow(RangeError);
  ids.accepted('a', { name: 'A' });
  expect(ids.drawAccepted(openRandom(1))).toBe('a');
  expect(ids.lastAccepted('a')).toEqual({ name: 'A' });
  ids.cutOff('a');
  expect(ids.lastAccepted('a')).toBeUndefined();
});

it('npm run storm sends wrong items whose error is known', () => {
  const random = openRandom(3);
  for (const plural of plurals) {
    const draft = { externalId: 'x', name: 'n', reference: 'r', whole: true };
    const right = drawItem(random, plural, draft);
    for (let turn = 0; turn < 20; turn += 1) {
      const { item, reason } = spoilItem(random, plural, right);
      expect(JSON.stringify(item)).not.toBe(JSON.stringify(right));
      expect(reason).toMatch(/required$|expected /);
    }
  }
});

it.each(plurals)('npm run storm draws an item of %s with each field of the contract', (plural) => {
  const draft = { externalId: 'x', name: 'n', reference: 'r', whole: true };
  expect(Object.keys(drawItem(openRandom(1), plural, draft)).toSorted()).toEqual(
    fieldNames[plural].toSorted(),
  );
});

it('npm run storm has receivers of each behaviour, and a flaky receiver mostly succeeds', () => {
  const behaviours = planEndpoints(profiles.brief).map(({ behaviour }) => behaviour);
  expect(new Set(behaviours)).toEqual(
    new Set(['steady', 'flaky', 'slow', 'dead', 'hostile', 'narrow', 'recovering']),
  );
  const random = openRandom(1);
  const statuses = Array.from(
    { length: 200 },
    (_, second) => react('flaky', { nowMs: second * 1_000, random }).status,
  );
  const well = statuses.filter((status) => status >= 200 && status < 300).length;
  expect(well).toBeGreaterThan(140);
  expect(well).toBeLessThan(170);
});
