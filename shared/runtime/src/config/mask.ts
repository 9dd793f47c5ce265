// The settings of a process as its log may show them.
import type { TObject } from 'typebox';
import { redactUrl } from '../log.ts';
import type { Rule } from './explain.ts';

/** Every setting by its name. Of a secret it says only that it is set, and of an address only where it leads. */
export function maskSettings(schema: TObject, config: object): Record<string, unknown> {
  const rules: Record<string, Rule | undefined> = schema.properties;
  return Object.fromEntries(
    Object.entries(config).map(([name, value]) => [name, maskValue(rules[name], value)]),
  );
}

const hidden = 'set, not shown';

function maskValue(rule: Rule | undefined, value: unknown): unknown {
  if (rule === undefined || rule.secret === true) return hidden;
  if (typeof value !== 'string') return value;
  if (!value.includes('://')) return value.includes('@') ? hidden : value;
  const shown = value.split(/,(?=\w+:\/\/)/).map(maskAddress);
  return shown.includes(undefined) ? hidden : shown.join();
}

/** Undefined where an `@` stands elsewhere than behind the login that `redactUrl` hid: a password may be before it. */
function maskAddress(address: string): string | undefined {
  const shown = redactUrl(address).replace(/[?#][^]*$/, '?…');
  return !address.includes('@') || /^[^@]*:\/\/\*\*\*@[^@]*$/.test(shown) ? shown : undefined;
}
