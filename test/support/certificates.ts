// Certificates for servers and clients on loopback, which openssl makes again for each run.
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from './folder.ts';

export interface Certificate {
  key: string;
  cert: string;
}

export interface Authority {
  /** The authority's own certificate, which a client has to trust. */
  readonly cert: string;
  /** Makes a certificate that the authority signs. `names`: alternative names in the form of openssl. */
  issue(...names: string[]): Promise<Certificate>;
}

/** A self-signed certificate, which a client has to trust itself. `names`: `DNS:receiver.test`, `IP:127.0.0.1`. */
export const makeCertificate = (...names: string[]): Promise<Certificate> => make(naming(names));

export async function makeAuthority(): Promise<Authority> {
  const authority = await make(['-subj', '/CN=authority', '-addext', 'basicConstraints=critical,CA:TRUE']);
  return {
    cert: authority.cert,
    issue: (...names) => make([...naming(names), '-addext', 'basicConstraints=CA:FALSE'], authority),
  };
}

const naming = (names: readonly string[]): string[] => [
  '-subj',
  '/CN=receiver',
  '-addext',
  `subjectAltName=${names.join(',')}`,
];

async function make(how: readonly string[], signer?: Certificate): Promise<Certificate> {
  await using folder = await temporaryFolder();
  const at = (name: string): string => join(folder.path, name);
  const [key, cert] = [at('key.pem'), at('cert.pem')];
  const signing: string[] = [];
  if (signer !== undefined) {
    await writeFile(at('signer.pem'), signer.cert);
    await writeFile(at('signer-key.pem'), signer.key);
    signing.push('-CA', at('signer.pem'), '-CAkey', at('signer-key.pem'));
  }
  await promisify(execFile)('openssl', [
    'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
    ...how, ...signing, '-keyout', key, '-out', cert,
  ]); // oxfmt-ignore
  return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
}
