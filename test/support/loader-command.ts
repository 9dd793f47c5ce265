// Runs the command of loader/ as a process, in a folder of the test's own.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Stack } from '@integration-sync/dev/stack';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { useFolder } from './use-folder.ts';
import { openClient, startTestStack, type Client } from './stack.ts';

const main = resolve(import.meta.dirname, '../../loader/src/main.ts');

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

export interface LoaderOptions {
  stack: Pick<Stack, 'gateway' | 'token'>;
  integration: string;
  folder: string;
  environment?: Record<string, string>;
  /** The scope of the key; every scope unless given. */
  scope?: string;
}

export interface Loader {
  run(...args: string[]): Promise<Ended>;
  /** Starts a load whose standard input the test writes, or which the test kills. */
  start(...args: string[]): { child: ChildProcess; ended: Promise<Ended> };
  write(name: string, content: string | Buffer): Promise<string>;
}

export function openLoader({ stack, integration, folder, environment, scope }: LoaderOptions): Loader {
  const start: Loader['start'] = (...args) => {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: folder,
      stdio: 'pipe',
      env: {
        PATH: process.env['PATH'],
        // A loader that finds what another has compiled starts with a quarter of the processor time.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        INTEGRATION_SYNC_URL: stack.gateway,
        INTEGRATION_SYNC_KEY: stack.token({ integration, ...(scope === undefined ? {} : { scope }) }),
        ...environment,
      },
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }));
    return { child, ended };
  };
  return {
    start,
    async run(...args) {
      const { child, ended } = start(...args);
      child.stdin?.end();
      return ended;
    },
    async write(name, content) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, content);
      return path;
    },
  };
}

export interface LoaderSetUp {
  readonly stack: Stack;
  readonly folder: { readonly path: string };
  /** A client of the integration that the loader loads into. */
  readonly acme: Client;
  readonly loader: Loader;
}

/** A whole stack for a test file, and for each test a new integration, folder and loader. */
export function useLoader(): LoaderSetUp {
  const folder = useFolder();
  let stack: Stack;
  let acme: Client;
  let loader: Loader;
  beforeAll(async () => {
    stack = await startTestStack();
  });
  afterAll(() => stack[Symbol.asyncDispose]());
  beforeEach(() => {
    acme = openClient(stack);
    loader = openLoader({ stack, integration: acme.integration, folder: folder.path });
  });
  return {
    folder,
    get stack() {
      return stack;
    },
    get acme() {
      return acme;
    },
    get loader() {
      return loader;
    },
  };
}
