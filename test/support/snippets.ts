// The fenced commands of the documents, as a person pastes them: those of one document one after the other into one shell.
//
//   sh                                   commands of a shell
//   js                                   a program of its own, with the environment of that shell
//   json right after one of these        what the last of its commands prints
//   <!-- snippet: until WORDS -->        each command of the next fence goes on until Ctrl-C, and says WORDS before
//   <!-- snippet: not run: REASON -->    the next fence is read and not run
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { configs } from '@integration-sync/dev/configs';
import { listSettings } from '@integration-sync/runtime/config';
import { parseBenchOptions } from '../../dev/bench/options.ts';
import { parseOptions } from '../../dev/stack/options.ts';
import { readCompose } from './compose.ts';
import { repository } from './deploy-files.ts';

export interface Snippet {
  /** `docs/integrating.md:5`: the line of its first command. */
  where: string;
  language: 'sh' | 'js';
  text: string;
  until?: string;
  notRun?: string;
  /** What the document shows as its output. */
  shown?: unknown;
}

const fence = /^```(\w*)\n(.*?)^```$/gms;
const marking = /<!-- snippet: (?:until (?<until>.+)|not run: (?<notRun>.+)) -->\n+$/;

export function readSnippets(name: string, markdown: string): Snippet[] {
  const snippets: Snippet[] = [];
  let [end, last]: [number, Snippet | undefined] = [0, undefined];
  for (const { index, 0: whole, 1: language, 2: text = '' } of markdown.matchAll(fence)) {
    const before = markdown.slice(end, index);
    const line = markdown.slice(0, index).split('\n').length + 1;
    if (language === 'json' && last !== undefined && before.trim() === '') last.shown = JSON.parse(text);
    last = undefined;
    if (language === 'sh' || language === 'js') {
      last = { where: `${name}:${line}`, language, text, ...marking.exec(before)?.groups };
      snippets.push(last);
    }
    end = index + whole.length;
  }
  return snippets;
}

/** The commands of a fence, each with the lines that it goes on in. */
const commandsOf = (text: string): string[] =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => !/^\s*(#|$)/.test(line));

// ---- Faults of a snippet that show without running it ----

const run = promisify(execFile);

const manifest: { scripts: object } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
const scripts = new Set(Object.keys(manifest.scripts));

/** The names of settings: those of services, and those that other programs read from the environment. */
const settings = new Set(
  Object.values(configs).flatMap((config) => listSettings(config).map(({ name }) => name)),
);
for (const file of ['deploy/nats/nats.conf', 'dev/receive.ts', 'docs/receivers/receiver.py'])
  for (const [name] of (await readFile(join(repository, file), 'utf8')).matchAll(/\b[A-Z]+_[A-Z_]+\b/g))
    settings.add(name);

const servicesOf = async (file: Parameters<typeof readCompose>[0]): Promise<[string, Set<string>]> => [
  file,
  new Set(Object.keys((await readCompose(file)).services)),
];
const compose = new Map(
  await Promise.all([servicesOf('docker-compose.yml'), servicesOf('compose.cluster.yml')]),
);

const options: Readonly<Record<string, (args: readonly string[]) => unknown>> = {
  start: parseOptions,
  bench: parseBenchOptions,
};

const npmRun = /npm (?:run )?(?:--silent )?(?<script>[\w:]+)(?: -- (?<args>[^|)&]*))?/g;
const path = /(?<![\w./-])(?:(?:deploy|docs|dev|services|shared|test)\/[\w./-]*\w|[\w.]*compose[\w.]*\.yml)/g;
const setting = /(?<![\w-])(?<name>(?:AUTH|GATEWAY|MONGODB|NATS|OTEL|WEBHOOK|METRICS)_\w+)=/g;

/** Scripts, options, files, settings and compose services that do not exist, and commands that bash cannot parse. */
export async function faultsOf({ where, language, text }: Snippet): Promise<string[]> {
  if (language === 'js') return [];
  const parsed = await run('bash', ['-n', '-c', text]).then(
    () => [],
    (error: Error) => [error.message],
  );
  const read = commandsOf(text).map((line) => Array.from(faultsOfCommand(line.replace(/(^|\s)#.*$/, ''))));
  return [...parsed, ...read.flat()].map((fault) => `${where}: ${fault}`);
}

function* faultsOfCommand(command: string): Generator<string> {
  for (const { groups: { script = '', args = '' } = {} } of command.matchAll(npmRun)) {
    if (!scripts.has(script) && script !== 'ci') yield `there is no script ${script}`;
    try {
      options[script]?.(args.split(/\s+/).filter((word) => word !== ''));
    } catch (error) {
      yield String(error);
    }
  }
  for (const [file] of command.matchAll(path))
    if (!existsSync(join(repository, file))) yield `there is no ${file}`;
  for (const { groups: { name = '' } = {} } of command.matchAll(setting))
    if (!settings.has(name)) yield `there is no setting ${name}`;
  const [, rest] = /docker compose (.*)$/.exec(command) ?? [];
  if (rest !== undefined) yield* faultsOfCompose(rest);
}

/** Checks that the compose file has the services that the command names. */
function* faultsOfCompose(rest: string): Generator<string> {
  const [, file = 'docker-compose.yml'] = /-f (\S+)/.exec(rest) ?? [];
  const [verb = '', ...words] = rest
    .replace(/-f \S+/, '')
    .trim()
    .split(/\s+/);
  // A word with `$` is the variable of a loop over services, whose value is unknown here.
  const arguments_ = words.filter((word) => !/^[-$]/.test(word)).map((word) => word.split('=')[0] ?? '');
  for (const name of verb === 'run' || verb === 'exec' ? arguments_.slice(0, 1) : arguments_)
    if (compose.get(file)?.has(name) !== true) yield `${file} has no service ${name}`;
}

// ---- Running snippets ----

export interface Place {
  /** The folder in which a person types the commands: that of the project. */
  cwd: string;
  environment: NodeJS.ProcessEnv;
  /** The folder for the commands and their output, below `cwd` so that programs find their packages. */
  folder: string;
}

/**
 * Ends the script at failures that a person would see and bash would pass over: a variable without a value, a failed
 * command in a pipe, an answer of 400 or more to curl (by its configuration).
 */
const preamble = `set -eum -o pipefail
end_jobs() { for job in $(jobs -p); do kill -TERM -- "-$job" 2> /dev/null || true; done; wait || true; }
trap end_jobs EXIT
until_said() {
  ( . "$2" ) > "$3" 2>&1 < /dev/null &
  until grep -qF -- "$1" "$3"; do
    kill -0 $! 2> /dev/null || { echo "it ended without saying: $1" >> "$3"; return 1; }
    sleep 0.1
  done
  kill -INT -- -$!
  wait $! || [ $? = 130 ]
}
`;

/** Runs the snippets of one document in order. Resolves with the first problem, or with none. */
export async function runSnippets(snippets: readonly Snippet[], place: Place): Promise<string[]> {
  await mkdir(place.folder, { recursive: true });
  await writeFile(join(place.folder, '.curlrc'), 'fail-with-body\nshow-error\nmax-time = 60\n');
  const runs = snippets.filter(({ notRun }) => notRun === undefined);
  const lines = await Promise.all(runs.map((snippet, index) => lineOf(snippet, index, place)));
  const script = join(place.folder, 'all.sh');
  await writeFile(script, [preamble, ...lines].join('\n'));
  const { cwd, environment } = place;
  const env = { ...environment, CURL_HOME: place.folder };
  const failure = await run('bash', [script], { cwd, env, timeout: 60_000 }).then(
    () => undefined,
    (error: Error) => error,
  );
  for (const [index, { where, shown }] of runs.entries()) {
    const output = await readFile(outputOf(index, place), 'utf8').catch(() => undefined);
    const isLast = !existsSync(outputOf(index + 1, place));
    if (output === undefined) return [`${where}: ${failure?.message}`];
    if (failure !== undefined && isLast)
      return [`${where}: ${failure.message}\n${output}${await errorsOf(index, place)}`];
    if (shown === undefined && output.includes('"success":false'))
      return [`${where}: some of it failed\n${output}`];
    if (shown !== undefined && !isAsShown(output, shown))
      return [`${where}: the document shows another answer than\n${output}`];
  }
  return [];
}

const outputOf = (index: number, { folder }: Place): string => join(folder, `${index}.out`);
const errorsOf = (index: number, place: Place): Promise<string> =>
  readFile(`${outputOf(index, place)}.err`, 'utf8').catch(() => '');

/** The lines of the script that run the snippet. */
async function lineOf({ language, text, until }: Snippet, index: number, place: Place): Promise<string> {
  const output = outputOf(index, place);
  const write = async (name: string, content: string): Promise<string> => {
    const file = join(place.folder, name);
    await writeFile(file, content);
    return file;
  };
  const commands = [];
  if (language === 'js') commands.push(`node ${await write(`${index}.mjs`, text)}`);
  else if (until === undefined) commands.push(text);
  else commands.push(...commandsOf(text));
  const files = await Promise.all(commands.map((command, step) => write(`${index}-${step}.sh`, command)));
  return files
    .map((file) =>
      until === undefined
        ? `{ . ${file}; } > ${output} 2> ${output}.err < /dev/null`
        : `until_said ${quoted(until)} ${file} ${output}`,
    )
    .join('\n');
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

// ---- Comparing output with the document ----

/**
 * Whether a JSON of the output is what the document shows, apart from ids, times and what the document shortens by "…".
 * A program in the background may print more after it, so the JSON need not be the last.
 */
function isAsShown(output: string, shown: unknown): boolean {
  const lines = output.split('\n');
  return lines.some((_, index) => {
    const printed = lastJson(lines.slice(0, index + 1).join('\n'));
    return printed !== undefined && matches(printed, shown);
  });
}

/** The JSON at the end of the output: answers have no line break, so they follow each other directly. */
function lastJson(output: string): unknown {
  const [, json = ''] = /(?:^|\}|\n)(\{(?:(?!\}\{).)*\})\s*$/.exec(output) ?? [];
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

function matches(printed: unknown, shown: unknown): boolean {
  if (typeof shown === 'string') return typeof printed === 'string' && patternOf(shown).test(printed);
  if (typeof shown !== 'object' || shown === null) return printed === shown;
  if (typeof printed !== 'object' || printed === null) return false;
  const [ours, theirs] = [Object.entries(printed), Object.entries(shown)];
  return (
    ours.length === theirs.length &&
    theirs.every(
      ([key, value], index) =>
        ours[index]?.[0] === key && (key === 'durationMs' || matches(ours[index][1], value)),
    )
  );
}

const differs = /[0-9a-f]{32}|\d{4}-\d\d-\d\dT[\d:.]+Z|…/;

const patternOf = (shown: string): RegExp =>
  new RegExp(
    `^${shown
      .split(differs)
      .map((text) => RegExp.escape(text))
      .join('.+')}$`,
  );
