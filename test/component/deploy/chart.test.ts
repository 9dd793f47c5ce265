// The chart as helm renders it, and as the compiler reads it.
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { copyFile, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  firstLineOf,
  notesFile,
  render,
  renderedFile,
  renderings,
  renderNotes,
} from '@integration-sync/dev/chart';
import { describe, expect, it } from 'vitest';
import { doorOf, ofKind, readRendered, type KubernetesObject } from '../../support/chart.ts';
import { repository } from '../../support/deploy-files.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { listen } from '../../support/servers.ts';

it.each(renderings)(
  'test/chart/rendered/%s.yaml is the output of helm; without helm, its first line has the hash of the present chart',
  async (name) => {
    const kept = await readFile(renderedFile(name), 'utf8');
    const rendered = (await render(name)) ?? kept.replace(/^.*/, await firstLineOf(name));
    expect(kept).toBe(rendered);
  },
);

// The validators of Kubernetes' schemas let fields pass that they do not know, as the API does. For the compiler an object with
// a field too many is an error, and the types are of the same schemas.
async function compile(objects: readonly KubernetesObject[]): Promise<string> {
  await using folder = await temporaryFolder();
  await symlink(join(repository, 'node_modules'), join(folder.path, 'node_modules'));
  const lines = objects.map(
    (object, place) =>
      `export const o${place}: import(${JSON.stringify(doorOf(object))}).I${object.kind} = ${JSON.stringify(object)};`,
  );
  await writeFile(join(folder.path, 'objects.ts'), lines.join('\n'));
  const args = [
    'objects.ts',
    '--noEmit',
    '--strict',
    '--skipLibCheck',
    '--module',
    'nodenext',
    '--types',
    '',
  ];
  const tsc = join(repository, 'node_modules/.bin/tsc');
  const compiled = promisify(execFile)(tsc, args, { cwd: folder.path });
  // The folder is there until then.
  return await compiled.then(
    ({ stdout }) => stdout,
    (error: Error & { stdout?: string; stderr?: string }) => `${error.message}${error.stdout}${error.stderr}`,
  );
}

it('the chart has no field that Kubernetes does not know', async () => {
  const objects = (await Promise.all(renderings.map(readRendered))).flatMap((rendered) => rendered.objects);
  // A unit test holds the object of KEDA whole.
  const ofKubernetes = objects.filter(({ kind }) => kind !== 'ScaledObject');
  expect(await compile(ofKubernetes)).toBe('');
});

it('the check of the chart finds a field that Kubernetes does not know', async () => {
  const { objects } = await readRendered('defaults');
  const wrongs = [
    ['"progressDeadlineSeconds"', '"progressDeadlineSecond"'],
    ['"readOnlyRootFilesystem"', '"readonlyRootFilesystem"'],
    ['"maxUnavailable":1,"selector"', '"maxUnavailable":1,"selectors"'],
    ['"policyTypes"', '"policyType"'],
  ] as const;
  const left = [...wrongs];
  // One in each object: the compiler names the first.
  const broken = objects.map((object) => {
    const text = JSON.stringify(object);
    const nth = left.findIndex(([right]) => text.includes(right));
    const [[right, wrong] = ['', '']] = nth === -1 ? [] : left.splice(nth, 1);
    return JSON.parse(right === '' ? text : text.replaceAll(right, wrong)) as KubernetesObject;
  });
  const said = await compile(broken);
  for (const [, wrong] of wrongs)
    expect(said).toMatch(new RegExp(`"${wrong.match(/\w+/g)?.at(-1)}".* does not exist`));
});

it('the documented job() makes a Job whose arguments are strings; without helm, the test fails only in CI', async () => {
  const page = await readFile(join(repository, 'docs/operating.md'), 'utf8');
  const job = /^job\(\) \{[^]*?; \}$/m.exec(page)?.[0] ?? '';
  expect(job).toContain('--set-string "ops.args={$1}"');
  const script = `
    set -o pipefail
    command -v "\${HELM:-helm}" > /dev/null || exec echo no helm
    kubectl() { cat; }
    helm() { if [[ $1 == get ]]; then echo {}; else command "\${HELM:-helm}" "$@" --kube-version 1.27.0; fi; }
    ${job}
    job reader,billing,--inactive,8`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: repository });
  const withoutHelm = process.env['CI'] === 'true' ? [] : ['no helm'];
  expect([...withoutHelm, 'args: ["ops","reader","billing","--inactive","8"]']).toContain(
    stdout
      .split('\n')
      .map((line) => line.trim())
      .find((line) => /^(no helm|args:)/.test(line)),
  );
});

it.each([
  ['ingress', 'ingress.hosts: name one host at least'],
  ['httpRoute', 'httpRoute.parentRefs: name one gateway at least'],
])('the chart says what an enabled %s lacks; without helm, the test checks nothing', async (way, words) => {
  const args = [
    'template',
    'acme',
    'deploy/helm',
    '--kube-version',
    '1.27.0',
    '--set',
    `${way}.enabled=true`,
  ];
  const rendered = promisify(execFile)(process.env['HELM'] || 'helm', args, { cwd: repository });
  const { code, stderr } = await rendered.then(
    () => ({ code: 0, stderr: '' }),
    (error: { code: unknown; stderr: string }) => error,
  );
  expect(code === 'ENOENT' ? words : stderr).toContain(words);
});

it('the chart’s notes after an installation equal the notes in test/chart/rendered', async () => {
  const kept = await readFile(notesFile, 'utf8');
  expect(kept).toBe((await renderNotes()) ?? kept);
});

const [served, waits] = [
  [200, 'served'],
  [503, 'waiting for nats'],
] as const;

it.each([
  ['1.2.0', 'once it has served', { '/ready': served, '/metrics': served }, 0, ''],
  ['1.2.0', 'not while it waits', { '/ready': waits, '/metrics': served }, 1, 'waiting for nats'],
  ['1.1.0', 'once it lives, as it has no /ready', { '/metrics': served }, 0, ''],
  ['1.1.0', 'not before it lives', { '/metrics': waits }, 1, ''],
])(
  'the startup probe of the chart lets a replica of %s pass %s',
  async (version, _when, paths, code, said) => {
    const { objects } = await readRendered('defaults');
    const [deployment] = ofKind(objects, 'Deployment');
    const [container] = deployment?.spec?.template.spec?.containers ?? [];
    const [command = '', ...args] = container?.startupProbe?.exec?.command ?? [];
    await using folder = await temporaryFolder();
    await copyFile(join(repository, 'deploy/healthcheck.sh'), join(folder.path, 'healthcheck.sh'));
    await writeFile(join(folder.path, 'package.json'), JSON.stringify({ version }, null, 2));
    await using replica = await listen(
      createServer(({ url = '' }, response) => {
        const [status, words] = new Map(Object.entries(paths)).get(url) ?? [404, ''];
        response.writeHead(status).end(words);
      }),
    );
    const asked = args.map((arg) => arg.replaceAll('9464', String(replica.port)));
    const probed = await promisify(execFile)(command, asked, { cwd: folder.path }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      (error: { code: number; stdout: string }) => error,
    );
    expect(probed).toMatchObject({ code, stdout: expect.stringContaining(said) });
  },
);

async function runPod(answers: readonly (readonly [number, string])[]): Promise<string> {
  const { objects } = await readRendered('defaults');
  const [pod] = ofKind(objects, 'Pod');
  const [container] = pod?.spec?.containers ?? [];
  const left = [...answers];
  const asked: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url);
    const [status, words] = left.shift() ?? [500, 'one question too many'];
    response.writeHead(status).end(words);
  });
  await using gateway = await listen(server);
  const { stdout } = await promisify(execFile)(process.execPath, container?.args ?? [], {
    env: { ...process.env, GATEWAY_URL: gateway.url },
    timeout: 60_000,
  });
  expect(asked).toEqual(answers.map(() => '/readyz'));
  return stdout;
}

describe('the pod of helm test', () => {
  it('asks the gateway until all services are ready, and prints each answer of the gateway', async () => {
    const said = await runPod([
      [503, 'catalog is away'],
      [200, 'all are ready'],
    ]);
    expect(said).toBe('catalog is away\nall are ready\n');
  }, 90_000);
});
