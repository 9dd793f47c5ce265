// Credentials as the NATS client reads them.
//
// Observed: the client (@nats-io/nats-core 3.4.0) finds its token and its seed between whole lines that end as those of Unix do.
// A file that Windows wrote, or that lacks the last line break, is none to it.

export const asCredentials = (text: string): Uint8Array => Buffer.from(`${text.replaceAll('\r\n', '\n')}\n`);
