// What a rival is told by the benchmark that starts it.

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const settings = {
  nats: setting('RIVAL_NATS'),
  mongodb: setting('RIVAL_MONGODB'),
  database: setting('RIVAL_DATABASE'),
  /** Of the collection, the stream and the subjects. */
  name: setting('RIVAL_NAME'),
  secret: setting('RIVAL_SECRET'),
};

export const itemsMax = 500;
export const bodyBytesMax = 5 * 1024 * 1024;
export const path = '/api/v1/integration/suppliers';
