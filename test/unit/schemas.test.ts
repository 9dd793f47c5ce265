// Each schema that a service compiles says what JSON Schema allows: the services do not look again at each start.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Batch,
  ChangeWebhook,
  Product,
  RegisterWebhook,
  ReplayEvents,
  RotateSecret,
  Supplier,
} from '@integration-sync/contracts';
import { Ajv } from 'ajv';
import { expect, it, test } from 'vitest';
import { BatchesConfig } from '../../services/batches/src/config.ts';
import { CatalogConfig } from '../../services/catalog/src/config.ts';
import { GatewayConfig } from '../../services/gateway/src/config.ts';
import { ClientConfig, PurgeConfig, ResealConfig, StreamsConfig } from '../../services/ops/src/config.ts';
import { WebhooksConfig } from '../../services/webhooks/src/config.ts';

const settings = {
  BatchesConfig,
  CatalogConfig,
  ClientConfig,
  GatewayConfig,
  PurgeConfig,
  ResealConfig,
  StreamsConfig,
  WebhooksConfig,
};
const bodies = { Batch, ChangeWebhook, Product, RegisterWebhook, ReplayEvents, RotateSecret, Supplier };
const schemas = Object.entries({ ...settings, ...bodies }).map(([name, schema]) => ({ name, schema }));

const ajv = new Ajv();

it.each(schemas)('$name is a valid JSON Schema', ({ schema }) => {
  expect(ajv.validateSchema(schema)).toBe(true);
});

test('the check notices a schema with a mistake', () => {
  expect(ajv.validateSchema({ type: 'object', required: 'url' })).toBe(false);
});

// What calls the compilers, and with which schemas.
test('the check covers all schemas', () => {
  const compiled = sources().flatMap(
    (text) =>
      text.match(/(?<=\b(?:bodyExaminer|readConfig|readSettings)\(|^ {2}schema: )[A-Z]\w+(?=[,)])/gm) ?? [],
  );
  expect([...new Set(compiled)].toSorted()).toEqual(schemas.map(({ name }) => name).toSorted());
});

function sources(): string[] {
  const folder = join(import.meta.dirname, '../../services');
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /^\w+\/src\/.*\.ts$/.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}
