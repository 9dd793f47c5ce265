import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

// Generators of three languages make clients of docs/openapi.json: without a warning, with typed errors, and so that a
// registration compiles and a wrong field does not. `.ci/generators` installs them.

const description = resolve('docs/openapi.json');
const tools = process.env['GENERATORS'] ?? '/dev/null';
const there = (name: string): string[] => (existsSync(join(tools, name)) ? [join(tools, name)] : []);
const generators = {
  python: there('python/bin/openapi-python-client'),
  typescript: there('typescript/node_modules/.bin/openapi-ts'),
  go: there('go/oapi-codegen'),
};

async function run(program: string, args: string[], cwd: string): Promise<{ code: number; said: string }> {
  const path = `${join(tools, 'python/bin')}:${process.env['PATH'] ?? ''}`;
  const options = { cwd, env: { ...process.env, PATH: path, PYTHONDONTWRITEBYTECODE: '1', NO_COLOR: '1' } };
  try {
    const { stdout, stderr } = await promisify(execFile)(program, args, options);
    return { code: 0, said: stdout + stderr };
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return { code: 1, said: stdout + stderr };
  }
}

/** A folder inside that of the generator, so that the client finds the packages that it imports. */
async function folderIn(name: string): Promise<AsyncDisposable & { path: string }> {
  await mkdir(join(tools, name), { recursive: true });
  const path = await mkdtemp(join(tools, name, 'client-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

it('the generators of OpenAPI clients are installed in CI', () => {
  const missing = Object.entries(generators).filter(([, found]) => found.length === 0);
  expect(process.env['CI'] === 'true' ? missing : []).toEqual([]);
});

it.each(generators.python)(
  'a client in Python that %s generates has a class for each error',
  { timeout: 60_000 },
  async (program) => {
    await using folder = await folderIn('python');
    const args = [
      'generate',
      '--path',
      description,
      '--output-path',
      join(folder.path, 'made'),
      '--meta',
      'none',
    ];
    const { code, said } = await run(program, args, folder.path);
    expect([code, said]).toEqual([0, expect.not.stringMatching(/warning|unable|skipping|cannot/i)]);
    await writeFile(join(folder.path, 'use.py'), python);
    const python3 = join(tools, 'python/bin/python');
    expect(await run(python3, ['use.py'], folder.path)).toEqual({
      code: 0,
      said: 'InvalidBodyProblem invalid_json\n',
    });
  },
);

const python = `
import httpx
from made import Client
from made.api.suppliers import push_suppliers
from made.models import PushSuppliers, RegisterWebhook, RegisterWebhookEventsItem, Supplier

def answer(request):
    problem = {"type": "x", "title": "x", "status": 400, "detail": "x", "code": "invalid_json", "requestId": "1"}
    return httpx.Response(400, json=problem)

client = Client(base_url="http://localhost", httpx_args={"transport": httpx.MockTransport(answer)})
RegisterWebhook(url="https://erp.example.com/", events=[RegisterWebhookEventsItem.SUPPLIER_CREATED])
problem = push_suppliers.sync(client=client, body=PushSuppliers(suppliers=[Supplier(external_id="1", name="One", country="SE")]))
print(type(problem).__name__, problem.code)
try:
    Supplier(external_id="1", name="One", contry="SE")
    print("a wrong field is taken")
except TypeError:
    pass
`;

it.each(generators.typescript)(
  'a client in TypeScript that %s generates compiles',
  { timeout: 60_000 },
  async (program) => {
    await using folder = await folderIn('typescript');
    const made = await run(
      program,
      ['-i', description, '-o', 'made', '-p', '@hey-api/typescript'],
      folder.path,
    );
    expect([made.code, made.said]).toEqual([0, expect.not.stringMatching(/warn|error/i)]);
    await writeFile(join(folder.path, 'use.ts'), typescript);
    const tsc = join(tools, 'typescript/node_modules/.bin/tsc');
    const args = ['--noEmit', '--strict', '--target', 'esnext', '--moduleResolution', 'bundler', 'use.ts'];
    expect(await run(tsc, args, folder.path)).toEqual({ code: 0, said: '' });
  },
);

const typescript = `
import type { PushSuppliersData, PushSuppliersErrors, RegisterWebhookData } from './made/types.gen';

export const registration: RegisterWebhookData['body'] = { url: 'https://erp.example.com/', events: ['supplier.created'] };
export const right: PushSuppliersData['body'] = { suppliers: [{ externalId: '1', name: 'One', country: 'SE' }] };
// @ts-expect-error No supplier has a "contry".
export const wrong: PushSuppliersData['body'] = { suppliers: [{ externalId: '1', name: 'One', contry: 'SE' }] };
export const code: PushSuppliersErrors[400]['code'] = 'invalid_json';
// @ts-expect-error No error of this status has this code.
export const other: PushSuppliersErrors[400]['code'] = 'unavailable';
`;

it.each(generators.go)('a client in Go that %s generates compiles', { timeout: 60_000 }, async (program) => {
  await using folder = await folderIn('go');
  // Without `skip-prune` this generator drops the components that webhooks alone refer to, and uses them.
  const args = ['-generate', 'types,client,skip-prune', '-package', 'main', '-o', 'made.go', description];
  expect(await run(program, args, folder.path)).toEqual({ code: 0, said: '' });
  await writeFile(join(folder.path, 'use.go'), go('Country'));
  expect(await run('go', ['build', '-o', '/dev/null', '.'], folder.path)).toEqual({ code: 0, said: '' });
  await writeFile(join(folder.path, 'use.go'), go('Contry'));
  const wrong = await run('go', ['build', '-o', '/dev/null', '.'], folder.path);
  expect(wrong).toEqual({ code: 1, said: expect.stringContaining('unknown field Contry') });
});

const go = (field: string): string => `package main

func main() {
	country := "SE"
	_ = RegisterWebhook{Url: "https://erp.example.com/", Events: []RegisterWebhookEvents{"supplier.created"}}
	_ = Supplier{ExternalId: "1", Name: "One", ${field}: &country}
	answer := PushSuppliersResponse{}
	if problem := answer.ApplicationproblemJSON400; problem != nil {
		println(problem.Code, problem.Status, problem.Detail)
	}
}
`;
