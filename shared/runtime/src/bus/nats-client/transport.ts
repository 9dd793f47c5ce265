// The transport of the NATS client, with three corrections.
//
// Observed with @nats-io/transport-node 3.4.0: for a server address with an IP, the client wants a certificate that names
// "localhost" (nats.js, issue 303). Here the certificate must name the IP. The client also reports most failures of a connection
// as a time-out. Here `onTrouble` gets the cause, in the words of nats-server if it sent some. The client drops a connection whose
// answers to pings wait behind megabytes of messages. Here a connection is dropped only while no byte arrives. A connection
// on which nothing leaves any more, and bytes arrive, is dropped by the pings of nats-server (`ping_max` in docs/operating.md).
import { NatsConnectionImpl, setTransportFactory, type NatsConnection } from '@nats-io/nats-core/internal';
import type { NodeConnectionOptions } from '@nats-io/transport-node';
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js';

export interface TransportOptions extends NodeConnectionOptions {
  /** Called for each connection that failed or ended with an error. */
  onTrouble: (error: Error) => void;
}

interface ObservedOptions extends TransportOptions {
  /** Called for each read from the socket. */
  onBytes: () => void;
}

/** The error if a certificate is missing, refused or not trusted; the message names the setting. */
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

/** The codes of TLS alerts by which nats-server refuses a client certificate, or asks for one. */
const alertOfCertificate = /^ERR_SSL_.*ALERT_(.*CERTIFICATE.*|UNKNOWN_CA)$/;

function inWords(error: Error, hasCertificate: boolean): Error {
  const code = 'code' in error ? String(error.code) : '';
  if (alertOfCertificate.test(code))
    return new CertificateRefused(hasCertificate ? refused : wanted, { cause: error });
  return untrustedCodes.has(code) ? new CertificateRefused(untrusted, { cause: error }) : error;
}

/** The protocol line by which nats-server refuses a login. The client hides most of these lines. */
const refusal = /^-ERR '([^']+)'/;

type Address = Parameters<NodeTransport['connect']>[0];

class TellingTransport extends NodeTransport {
  #host = '';

  override async connect(server: Address, options: ObservedOptions): Promise<void> {
    this.#host = server.hostname;
    const { onTrouble, onBytes } = options;
    const hasCertificate = options.tls?.cert !== undefined;
    try {
      await super.connect(server, options);
    } catch (error) {
      const trouble = error instanceof Error ? inWords(error, hasCertificate) : new Error(String(error));
      onTrouble(trouble);
      throw trouble;
    }
    if (this.isClosed) return;
    this.socket.on('data', onBytes);
    this.socket.once('data', (first: Buffer) => {
      const said = refusal.exec(first.toString())?.[1];
      if (said !== undefined) onTrouble(new Error(said));
    });
    void this.closed().then((error) => {
      if (error instanceof Error) onTrouble(inWords(error, hasCertificate));
    });
  }

  /** Node checks the certificate against `servername`, which the client leaves empty for an IP, and then against `host`. */
  override startTLS(): ReturnType<NodeTransport['startTLS']> {
    const tls = { ...this.options.tls, host: this.#host };
    this.options = { ...this.options, tls };
    return super.startTLS();
  }
}

export async function connectTelling(options: TransportOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new TellingTransport(), dnsResolveFn: nodeResolveHost });
  let heartbeats: NatsConnectionImpl['protocol']['heartbeats'] | undefined;
  const observed: ObservedOptions = {
    ...options,
    onBytes() {
      if (heartbeats !== undefined && heartbeats.pendings.length > 0) heartbeats._reset();
    },
  };
  const nats = await NatsConnectionImpl.connect(observed);
  if (nats instanceof NatsConnectionImpl) ({ heartbeats } = nats.protocol);
  return nats;
}
