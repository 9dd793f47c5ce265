// Whether the configured keys open what is stored: found out at the start, and not by each delivery that fails.
import { ConfigError } from '@integration-sync/runtime/config';
import type { Endpoints } from './endpoints.ts';
import type { Vault } from './vault.ts';

type Stored = Pick<Endpoints, 'findSealedWith' | 'findSealedWithout'>;

export async function checkKeys(vault: Vault, endpoints: Stored): Promise<void> {
  const problems: string[] = [];
  for (const keyId of vault.keyIds) {
    const sealed = await endpoints.findSealedWith(keyId);
    if (sealed === null || canOpen(vault, sealed.secret, sealed._id)) continue;
    problems.push(
      `WEBHOOK_SECRET_KEY: expected the key "${keyId}" that the stored secrets are sealed with, got another`,
    );
  }
  const foreign = await endpoints.findSealedWithout(vault.keyIds);
  if (foreign !== null) {
    const [keyId = ''] = foreign.secret.split(':');
    problems.push(
      `WEBHOOK_SECRET_KEY: expected the key "${keyId}" as well, with which stored secrets are sealed, got ${vault.keyIds.join(', ')}`,
    );
  }
  if (problems.length > 0) throw new ConfigError(problems);
}

function canOpen(vault: Vault, sealed: string, endpointId: string): boolean {
  try {
    vault.open(sealed, endpointId);
    return true;
  } catch {
    return false;
  }
}
