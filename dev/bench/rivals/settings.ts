// The settings of a rival, which the benchmark that starts it gives as environment variables.

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const settings = {
  nats: setting('RIVAL_NATS'),
  mongodb: setting('RIVAL_MONGODB'),
  database: setting('RIVAL_DATABASE'),
  /** The name of the rival's collection and of its stream, and the first token of its subjects. */
  name: setting('RIVAL_NAME'),
  secret: setting('RIVAL_SECRET'),
};

export const itemsMax = 500;
export const bodyBytesMax = 5 * 1024 * 1024;
export const path = '/api/v1/integration/suppliers';
