// The parts of OpenAPI 3.1 that the document is made of.

export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };
export type JsonObject = { readonly [key: string]: Json | undefined };

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly JsonObject[];
  readonly parameters?: readonly JsonObject[];
  readonly requestBody?: JsonObject;
  readonly responses: Readonly<Record<string, JsonObject>>;
}

/** An operation that the gateway carries out itself. */
export interface GatewayPage {
  method: 'GET' | 'POST';
  path: string;
  operation: Operation;
}

export const reference = (section: 'schemas' | 'responses' | 'headers' | 'parameters', name: string) => ({
  $ref: `#/components/${section}/${name}`,
});

/** The schema of an object. Its keys are never absent, unless `required` names only some of them. */
export const objectOf = (
  properties: Readonly<Record<string, JsonObject>>,
  required = Object.keys(properties),
): JsonObject => ({ type: 'object', required, properties });

export const parameterOf = (
  where: 'path' | 'header',
  name: string,
  description: string,
  example?: string,
) => ({
  name,
  in: where,
  required: where === 'path',
  description,
  schema: { type: 'string' },
  ...(example === undefined ? {} : { example }),
});

export const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value));

/** An answer, with its headers beside `X-Request-Id`; an answer without a body has no content. */
export const answerOf = (
  description: string,
  headers: readonly string[],
  content?: JsonObject,
): JsonObject => ({
  description,
  headers: Object.fromEntries(['X-Request-Id', ...headers].map((name) => [name, reference('headers', name)])),
  ...(content === undefined ? {} : { content }),
});

export const contentOf = (schema: JsonObject, example?: unknown, type = 'application/json'): JsonObject => ({
  [type]: {
    schema,
    ...(example === undefined
      ? {}
      : { examples: { example: { summary: 'An example', value: plain(example) } } }),
  },
});

/** Converts a name such as `supplier.created` to `SupplierCreated`. */
export const inPascalCase = (name: string): string =>
  name.replaceAll(/(?:^|[ .-])(\w)/g, (_, letter: string) => letter.toUpperCase());
