// Certificates for receivers on loopback, which openssl makes again for each run.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Certificate {
  key: string;
  /** Signed by itself, so it is its own authority too. */
  cert: string;
}

/** `names` as openssl writes alternative names: `DNS:receiver.test`, `IP:127.0.0.1`. */
export async function makeCertificate(...names: string[]): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), 'integration-sync-certificate-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  try {
    await promisify(execFile)('openssl', [
      'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1',
      '-subj', '/CN=receiver', '-addext', `subjectAltName=${names.join(',')}`, '-keyout', key, '-out', cert,
    ]); // prettier-ignore
    return { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') };
  } finally {
    await rm(folder, { recursive: true });
  }
}
