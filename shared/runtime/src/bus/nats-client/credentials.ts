// Rewrites the line ends of a credentials file for the NATS client.
//
// Observed: the client (@nats-io/nats-core 3.4.0) refuses a credentials file with Windows line ends or without a last line break.

export const asCredentials = (text: string): Uint8Array => Buffer.from(`${text.replaceAll('\r\n', '\n')}\n`);
