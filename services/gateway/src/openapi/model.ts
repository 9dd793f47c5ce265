// The parts of OpenAPI 3.1 that the document is made of.

export type Json =
  null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };
export type JsonObject = { readonly [key: string]: Json | undefined };

export interface Reference {
  readonly $ref: string;
  readonly [key: string]: Json | undefined;
}

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

export const reference = (
  section: 'schemas' | 'responses' | 'headers' | 'parameters' | 'examples',
  name: string,
): Reference => ({
  $ref: `#/components/${section}/${name}`,
});
