import { describe, expect, it } from 'vitest';
import { explainRefusals, listRefusals, orderSources, parseForced } from '../../../dev/engines/choice.ts';
import { isAtLeast, parseVersion } from '../../../dev/engines/versions.ts';

const unforced = { forced: undefined, addressSet: false, remembered: [] };

describe('the order in which a start tries sources of MongoDB or NATS', () => {
  it('is Docker, PATH, download, build where nothing is known', () => {
    expect(orderSources(unforced)).toStrictEqual(['docker', 'path', 'download', 'build']);
  });

  it('is the address of the environment alone where one is set', () => {
    expect(orderSources({ ...unforced, addressSet: true, remembered: ['build'] })).toStrictEqual([
      'environment',
    ]);
  });

  it('is the forced source alone, even where an address is set', () => {
    expect(orderSources({ forced: 'path', addressSet: true, remembered: ['build'] })).toStrictEqual(['path']);
  });

  it('begins with the source of the stored data, then with the last working source', () => {
    const remembered = ['build', 'download'] as const;
    expect(orderSources({ ...unforced, remembered })).toStrictEqual(['build', 'download', 'docker', 'path']);
  });

  it('does not reuse an address of the last start', () => {
    const remembered = ['environment', undefined] as const;
    expect(orderSources({ ...unforced, remembered })).toStrictEqual(['docker', 'path', 'download', 'build']);
  });
});

describe('ENGINES', () => {
  it.each(['docker', 'path', 'download', 'build'])('takes %s', (text) => {
    expect(parseForced(text)).toBe(text);
  });

  it.each([undefined, ''])('forces no source when it is %s', (text) => {
    expect(parseForced(text)).toBeUndefined();
  });

  it.each(['environment', 'Docker', 'mock'])('refuses %s and names the accepted values', (text) => {
    expect(() => parseForced(text)).toThrow(
      `ENGINES: expected one of docker, path, download, build, got "${text}"`,
    );
  });
});

describe('the reasons why MongoDB or NATS came from no source', () => {
  const refusals = [
    { source: 'docker', why: 'Docker does not answer', help: 'install Docker, or start it' },
    { source: 'path', why: 'there is no mongod on PATH', help: '' },
  ] as const;

  it('are one line where another source is used', () => {
    expect(explainRefusals(refusals)).toBe(
      'docker: Docker does not answer; path: there is no mongod on PATH',
    );
  });

  it('are listed with advice when no source worked', () => {
    expect(listRefusals(refusals)).toBe(
      '  docker: Docker does not answer\n      → install Docker, or start it\n  path: there is no mongod on PATH',
    );
  });
});

describe('the version of an engine', () => {
  it.each([
    ['nats-server: v2.15.1', [2, 15]],
    ['db version v7.0.14\nBuild Info: {', [7, 0]],
    ['no number', undefined],
  ])('is read from %j', (text, version) => {
    expect(parseVersion(text)).toStrictEqual(version);
  });

  it.each([
    [[2, 12], true],
    [[2, 15], true],
    [[3, 0], true],
    [[2, 11], false],
    [[1, 99], false],
  ] as const)('%j is at least 2.12: %s', (version, enough) => {
    expect(isAtLeast(version, [2, 12])).toBe(enough);
  });
});
