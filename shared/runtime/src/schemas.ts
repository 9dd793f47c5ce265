// How the project's own schemas are compiled.

/**
 * For Ajv. Held against JSON Schema itself they are by a test, not by each process: to compile the schema of schemas takes a
 * tenth of what a service needs to start.
 */
export const ownSchemas = { meta: false, validateSchema: false } as const;
