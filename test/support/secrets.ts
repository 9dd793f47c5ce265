// Placeholders for the secret settings of a service, for tests that read settings and connect to nothing.
export const exampleSecrets: Readonly<Record<string, string | undefined>> = {
  NATS_URL: 'nats://catalog:not-a-password@nats:4222',
  MONGODB_URL: 'mongodb://sync:not-a-password@mongodb:27017/?replicaSet=sync',
  AUTH_JWT_SECRET: 'not-a-secret-but-long-enough-to-be-one',
  WEBHOOK_SECRET_KEY: `example:${Buffer.alloc(32).toString('base64')}`,
};
