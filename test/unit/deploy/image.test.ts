// What the image is made of, as far as its file says it. Whether it starts is tried with Docker (docs/running.md).
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { repository } from '../../support/deploy-files.ts';

const read = (path: string): Promise<string> => readFile(join(repository, path), 'utf8');
const dockerfile = await read('Dockerfile');

it('the image has the version of the packages and the chart', async () => {
  const { version } = JSON.parse(await read('package.json')) as { version: string };
  expect(dockerfile).toContain(`\nARG VERSION=${version}\n`);
  expect(parse(await read('deploy/helm/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  expect(JSON.parse(await read('shared/runtime/package.json'))).toMatchObject({ version });
});

it('the image has the packages of each service and shared package, wherever npm puts them', async () => {
  const { packages } = JSON.parse(await read('package-lock.json')) as { packages: Record<string, unknown> };
  const shipped = Object.keys(packages).filter((path) =>
    /^((services|shared)\/\w+\/)?node_modules\//.test(path),
  );
  const copied = [...dockerfile.matchAll(/^COPY --from=dependencies \/app\/?(\S*) /gm)].map(
    ([, path = '']) => path,
  );
  expect(copied).not.toEqual([]);
  const isCopied = (path: string): boolean =>
    copied.some((folder) => folder === '' || path.startsWith(`${folder}/`));
  expect(shipped.filter((path) => !isCopied(path))).toEqual([]);
});

const stageOf = (name: string): string =>
  dockerfile.split(/^FROM /m).find((one) => one.includes(` AS ${name}\n`)) ?? '';

it('the image has no sources, types or source maps of packages, and no npm', () => {
  expect(stageOf('dependencies')).toMatch(
    /find \. -path '\*\/node_modules\/\*' .*'\*\.ts'.*'\*\.map'.* -delete$/m,
  );
  expect(stageOf('application')).toMatch(/^RUN rm -rf \/usr\/local\/lib\/node_modules .*\/npm /m);
});

it('the image runs as a numeric user other than root', () => {
  const users = dockerfile.match(/^USER .*$/gm) ?? [];
  expect([...new Set(users)]).toEqual(['USER 1000:1000']);
  expect(dockerfile.lastIndexOf('\nUSER ')).toBeGreaterThan(dockerfile.lastIndexOf('\nFROM '));
});

it('the image fills the compile cache with the user and the Node options of its entrypoint', () => {
  const [, entry = ''] = /^ENTRYPOINT (.*)$/m.exec(dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))) ?? [];
  const command = (JSON.parse(entry) as string[]).join(' ');
  const stage = /^FROM application AS compiled$([^]*?)^FROM /m.exec(dockerfile)?.[1] ?? '';
  expect(stage).toContain('USER 1000:1000');
  for (const [started] of stage.matchAll(/\bnode .*$/gm)) expect(started).toContain(`${command} `);
  const [, folder = ''] = /NODE_COMPILE_CACHE=(\S+)/.exec(stage) ?? [];
  expect(dockerfile).toContain(`COPY --from=compiled --chown=0:0 ${folder} ${folder}\n`);
  expect(dockerfile.match(/^ENV .*$/gm)?.at(-1)).toContain(`NODE_COMPILE_CACHE=${folder} `);
});
