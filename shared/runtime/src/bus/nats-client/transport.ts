// The sockets of the NATS client, with two things that it does not do itself.
//
// Observed with @nats-io/transport-node 3.4.0: the certificate of a nats-server that is called by its IP has to name "localhost"
// (nats.js, issue 303), and most failures of a connection are called a time-out. Here the certificate has to name the IP, and why
// a connection failed or ended is told, in the words of nats-server where it has some.
import { NatsConnectionImpl, setTransportFactory, type NatsConnection } from '@nats-io/nats-core/internal';
import type { NodeConnectionOptions } from '@nats-io/transport-node';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';

export interface TransportOptions extends NodeConnectionOptions {
  /** Of each connection that failed, or ended with an error. */
  onTrouble: (error: Error) => void;
}

/** What TLS says of certificates, in words that name the setting. */
export class CertificateRefused extends Error {
  override readonly name = 'CertificateRefused';
}

const wanted = 'nats-server asks for a client certificate: set NATS_TLS_CERT and NATS_TLS_KEY';
const refused = 'nats-server refuses the client certificate of NATS_TLS_CERT';
const untrusted = 'nats-server has a certificate of an issuer that is not trusted here: set NATS_TLS_CA';

const untrustedCodes: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** nats-server says by an alert what it thinks of a certificate, or of there being none. */
const alertOfCertificate = /^ERR_SSL_.*ALERT_(.*CERTIFICATE.*|UNKNOWN_CA)$/;

function inWords(error: Error, hasCertificate: boolean): Error {
  const code = 'code' in error ? String(error.code) : '';
  if (alertOfCertificate.test(code))
    return new CertificateRefused(hasCertificate ? refused : wanted, { cause: error });
  return untrustedCodes.has(code) ? new CertificateRefused(untrusted, { cause: error }) : error;
}

/** What nats-server says to a login that it does not take. Of most of it the client tells nothing. */
const refusal = /^-ERR '([^']+)'/;

type Address = Parameters<NodeTransport['connect']>[0];

class TellingTransport extends NodeTransport {
  #host = '';

  override async connect(server: Address, options: TransportOptions): Promise<void> {
    this.#host = server.hostname;
    const { onTrouble } = options;
    const hasCertificate = options.tls?.cert !== undefined;
    try {
      await super.connect(server, options);
    } catch (error) {
      const trouble = error instanceof Error ? inWords(error, hasCertificate) : new Error(String(error));
      onTrouble(trouble);
      throw trouble;
    }
    if (this.isClosed) return;
    this.socket.once('data', (first: Buffer) => {
      const said = refusal.exec(first.toString())?.[1];
      if (said !== undefined) onTrouble(new Error(said));
    });
    void this.closed().then((error) => {
      if (error instanceof Error) onTrouble(inWords(error, hasCertificate));
    });
  }

  /** Node verifies by `servername`, which the client leaves empty for an IP, and otherwise by `host`. */
  override startTLS(): ReturnType<NodeTransport['startTLS']> {
    const tls = { ...this.options.tls, host: this.#host };
    this.options = { ...this.options, tls };
    return super.startTLS();
  }
}

export function connectTelling(options: TransportOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new TellingTransport(), dnsResolveFn: nodeResolveHost });
  return NatsConnectionImpl.connect(options);
}
