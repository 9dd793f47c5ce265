// The egress guard: before anything is sent, every address that a url leads to is judged, and what comes out is
// the one address that the connection must be made to. Nothing resolves the name a second time.
import { judgeAddress, type AllowList } from './address.ts';
import type { Resolve } from './resolver.ts';
import { readTarget, refuseAddresses, type Target } from './target.ts';

export interface CheckedTarget extends Target {
  /** Judged, and the only one to connect to. */
  address: string;
}

/** Its words are for the integrator. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

export type Guard = (url: string) => Promise<CheckedTarget>;

export function openGuard({ allowed, resolve }: { allowed: AllowList; resolve: Resolve }): Guard {
  return async (url) => {
    const target = readTarget(url);
    if ('refused' in target) throw new TargetRefused(target.refused);
    const addresses = target.isLiteral ? [target.host] : await addressesOf(target.host, resolve);
    const refusal = refuseAddresses(
      target,
      addresses.map((address) => ({ address, verdict: judgeAddress(address, allowed) })),
    );
    if (refusal !== undefined) throw new TargetRefused(refusal);
    const [address] = addresses;
    if (address === undefined) throw new TargetRefused(`${target.host} does not resolve`);
    return { ...target, address };
  };
}

async function addressesOf(name: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(name);
  } catch (error) {
    throw new TargetRefused(`${name} does not resolve`, { cause: error });
  }
}
