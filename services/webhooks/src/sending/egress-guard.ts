// The egress guard: before anything is sent, it judges every address that a url leads to, and the HTTP client
// may connect only to the addresses that it returns. Nothing resolves the name a second time.
import { LRUCache } from 'lru-cache';
import { judgeAddress, type AllowList } from './allowed-addresses.ts';
import type { Resolve } from './resolver.ts';
import { readTarget, refuseAddresses, type Target } from './target.ts';

export interface CheckedTarget extends Target {
  /** Each of them judged, and no other to be connected to. At least one. */
  addresses: readonly string[];
}

/** Its words are for the integrator. */
export class TargetRefused extends Error {
  override readonly name = 'TargetRefused';
}

export type EgressGuard = (url: string) => Promise<CheckedTarget>;

/** Urls whose reading is remembered. What a name leads to is asked each time. */
const urlsMax = 10_000;

export function openEgressGuard({ allowed, resolve }: { allowed: AllowList; resolve: Resolve }): EgressGuard {
  const targets = new LRUCache<string, Target>({ max: urlsMax });
  /** Of addresses in urls: neither they nor the rules ever change. */
  const literals = new LRUCache<string, CheckedTarget>({ max: urlsMax });

  const read = (url: string): Target => {
    const known = targets.get(url);
    if (known !== undefined) return known;
    const target = readTarget(url);
    if ('refused' in target) throw new TargetRefused(target.refused);
    targets.set(url, target);
    return target;
  };

  const check = (target: Target, addresses: readonly string[]): CheckedTarget => {
    const refusal = refuseAddresses(
      target,
      addresses.map((address) => ({ address, verdict: judgeAddress(address, allowed) })),
    );
    if (refusal !== undefined) throw new TargetRefused(refusal);
    if (addresses.length === 0) throw new TargetRefused(`${target.host} does not resolve`);
    return { ...target, addresses };
  };

  return async (url) => {
    const known = literals.get(url);
    if (known !== undefined) return known;
    const target = read(url);
    if (!target.isLiteral) return check(target, await addressesOf(target.host, resolve));
    const checked = check(target, [target.host]);
    literals.set(url, checked);
    return checked;
  };
}

async function addressesOf(name: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(name);
  } catch (error) {
    throw new TargetRefused(`${name} does not resolve`, { cause: error });
  }
}
