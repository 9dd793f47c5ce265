// How Ajv compiles the project's own schemas.

/** A test validates the schemas, so no process does: compiling JSON Schema's meta-schema takes a tenth of a service's start. */
export const ownSchemas = { meta: false, validateSchema: false } as const;
