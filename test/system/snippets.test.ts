// The commands of README.md and docs/ beside a running `npm start`, as a person pastes them: each document in a fresh shell of
// its own, in the order of the README. They run in a copy of the project, because they work in its `.local`.
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, glob, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { findPort } from '@integration-sync/dev/port';
import { afterAll, beforeAll, describe, expect, inject, it, onTestFailed } from 'vitest';
import { repository } from '../support/deploy-files.ts';
import { temporaryFolder, type TemporaryFolder } from '../support/folder.ts';
import { faultsOf, readSnippets, runSnippets, type Place, type Snippet } from '../support/snippets.ts';

const readme = await readFile(join(repository, 'README.md'), 'utf8');
const inOrder = [
  'README.md',
  ...Array.from(readme.matchAll(/\]\((docs\/\w[\w-]*\.md)/g), ([, page = '']) => page),
];
const documents = [...new Set(inOrder)];
const pages = await Promise.all(
  documents.map(async (page) => ({ page, text: await readFile(join(repository, page), 'utf8') })),
);
const snippets = pages.map(({ page, text }) => ({ page, all: readSnippets(page, text) }));

/** Why a snippet is not run. */
const reasons = [
  'Docker',
  'Keycloak',
  'Kubernetes',
  'NATS ports',
  'NATS users',
  'Prometheus',
  'mongos',
  'recursive',
  'second stack',
  'slow',
];

/** A machine may lack these. */
const programs = ['curl', 'jq', 'openssl', 'python3'];
const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
const isRun = ({ notRun }: Snippet): boolean => notRun === undefined;
const lacks = (all: readonly Snippet[]): boolean =>
  all.filter(isRun).some(({ text }) => missing.some((program) => new RegExp(`\\b${program}\\b`).test(text)));

let folder: TemporaryFolder;
let stack: ChildProcess;
let environment: NodeJS.ProcessEnv;

async function open(): Promise<void> {
  folder = await temporaryFolder();
  await copyProject(folder.path);
  environment = { ...process.env, GATEWAY_PORT: String(await findPort()), PORT: String(await findPort()) };
  stack = spawn('npm', ['start'], {
    cwd: folder.path,
    env: {
      ...environment,
      MONGODB_URL: inject('engines').mongodb,
      MONGODB_DATABASE: `test_${randomUUID()}`,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  let said = '';
  const ready = Promise.withResolvers<void>();
  stack.stdout?.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    if (said.includes('The stack is ready.')) ready.resolve();
  });
  stack.once('exit', () => ready.reject(new Error(said)));
  await ready.promise;
}

async function close(): Promise<void> {
  const ended = once(stack, 'exit');
  // As Ctrl-C does.
  process.kill(-(stack.pid ?? 0), 'SIGINT');
  await ended;
  await folder[Symbol.asyncDispose]();
}

beforeAll(open);
afterAll(close);

const placeOf = (name: string): Place => ({
  cwd: folder.path,
  environment,
  folder: join(folder.path, '.snippets', name.replaceAll(' ', '-')),
});

async function runPage(page = ''): Promise<string[]> {
  const all = snippets.find((one) => one.page === page)?.all ?? [];
  return runSnippets(all, placeOf(basename(page, '.md')));
}

/** All that git has or would take, and the installed packages. */
async function copyProject(to: string): Promise<void> {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const { stdout } = await promisify(execFile)('git', listed, { cwd: repository, maxBuffer: 2 ** 24 });
  for (const file of stdout.split('\0').filter((name) => name !== '')) await copyFile(file, to);
  for await (const packages of glob(['node_modules', '{dev,test,services/*,shared/*}/node_modules'], {
    cwd: repository,
  }))
    await linkPackages(packages, to);
}

const copyFile = async (file: string, to: string): Promise<void> => {
  await mkdir(dirname(join(to, file)), { recursive: true });
  // One that was removed is listed until that is committed.
  await cp(join(repository, file), join(to, file)).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
};

/** The project's own packages are links to folders of the copy, the others' are those of the project. */
async function linkPackages(packages: string, to: string): Promise<void> {
  await mkdir(join(to, packages), { recursive: true });
  for (const name of await readdir(join(repository, packages))) {
    const [from, link] = [join(repository, packages, name), join(to, packages, name)];
    if (name === '@integration-sync') await cp(from, link, { recursive: true, verbatimSymlinks: true });
    else await symlink(from, link);
  }
}

it.each(snippets)(
  '$page names only scripts, options, files, settings and services that exist',
  async ({ all }) => {
    expect((await Promise.all(all.map(faultsOf))).flat()).toEqual([]);
  },
);

for (const { page, all } of snippets.filter((one) => one.all.some(isRun)))
  it.runIf(!lacks(all))(`the commands of ${page} print what the page shows`, async () => {
    // A stack that has run them prints something else. The other pages go on from the README.
    onTestFailed(async () => {
      await close();
      await open();
      if (page !== inOrder[0]) await runPage(inOrder[0]);
    });
    expect(await runPage(page)).toEqual([]);
  });

it('no command of README.md ends with a comment, which zsh would take for arguments', () => {
  const commands = snippets.flatMap(({ page, all }) => (page === 'README.md' ? all : []));
  expect(commands.filter(({ text }) => / #/.test(text))).toEqual([]);
});

it('every snippet of the documents is run, or has a known reason not to be run', () => {
  const given = snippets.flatMap(({ all }) => all).map(({ notRun }) => notRun);
  expect(new Set(given)).toEqual(new Set([undefined, ...reasons]));
});

const sh = (text: string): string => `\`\`\`sh\n${text}\n\`\`\`\n`;
const gateway = `"$(node -p "require('./.local/stack.json').gateway")`;

describe('a snippet is wrong', () => {
  it.each([
    ['names a script that there is not', 'npm run recieve -- --integration acme', 'no script recieve'],
    ['names an option that there is not', 'npm start -- --catalogue 2', "Unknown option '--catalogue'"],
    ['names a bench that there is not', 'npm run bench -- psuh', 'psuh'],
    [
      'names a file that there is not',
      'python3 docs/receivers/reciever.py &',
      'no docs/receivers/reciever.py',
    ],
    ['names a setting that there is not', 'AUTH_ISSUR=https://login.example.com', 'no setting AUTH_ISSUR'],
    [
      'names a compose file that there is not',
      'docker compose -f compose.clustr.yml up',
      'no compose.clustr.yml',
    ],
    ['names a container that there is not', 'docker compose restart gatway', 'no service gatway'],
    ['scales a container that there is not', 'docker compose up --scale catlog=2', 'no service catlog'],
    ['cannot be read by a shell', "echo 'open", 'unexpected EOF'],
  ])('which %s', async (_what, text, fault) => {
    expect((await faultsOf({ where: 'page.md:1', language: 'sh', text })).join('\n')).toContain(fault);
  });

  it.each([
    ['has a variable without a value', sh('echo $TOKN'), 'TOKN: unbound variable'],
    [
      'has a variable that is not exported',
      `${sh('TOKN=x')}\`\`\`js\nconsole.log(process.env.TOKN.length);\n\`\`\`\n`,
      'TypeError',
    ],
    ['has a command that there is not', sh('crul --version'), 'crul: command not found'],
    ['fails in a pipe', sh('cat nowhere | sort'), 'nowhere: No such file'],
    ['is answered 404', sh(`curl -s ${gateway}/nowhere"`), '"not_found"'],
    ['pushes what is refused', sh(`echo '{"success":false}'`), 'some of it failed'],
    ['is answered by nobody', sh('curl -s http://127.0.0.1:1/'), 'onnect'],
    [
      'shows what does not come',
      `${sh(`echo '{"a":1,"b":2}'`)}\n\`\`\`json\n{"a":1,"b":3}\n\`\`\`\n`,
      'another answer',
    ],
    [
      'shows less than what comes',
      `${sh(`echo '{"a":1,"b":2}'`)}\n\`\`\`json\n{"a":1}\n\`\`\`\n`,
      'another answer',
    ],
    [
      'ends before it says so',
      `<!-- snippet: until ready -->\n\n${sh('echo begun')}`,
      'ended without saying: ready',
    ],
    ['is a program that throws', "```js\nawait fetch('http://127.0.0.1:1/');\n```\n", 'fetch failed'],
  ])('which %s, whatever stands after it', async (what, markdown, words) => {
    const all = readSnippets('page.md', `${markdown}\n${sh('true')}`);
    const [fault, ...others] = await runSnippets(all, placeOf(what));
    expect(fault).toContain(words);
    expect(others).toEqual([]);
  });
});
