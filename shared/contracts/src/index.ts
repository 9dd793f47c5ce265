// The door of this room: everything that is said between the services, and to the outside.
export * from './batches.ts';
export * from './codes.ts';
export * from './countries.ts';
export * from './events.ts';
export * from './failure.ts';
export { formats } from './fields.ts';
export * from './limits.ts';
export * from './listings.ts';
export * from './problems.ts';
export * from './products.ts';
export * from './pushes.ts';
export * from './routes.ts';
export * from './scopes.ts';
export * from './subjects.ts';
export * from './suppliers.ts';
export * from './time.ts';
export * from './webhooks.ts';
export * from './wire.ts';
