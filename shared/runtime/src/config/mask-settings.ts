// The settings of a process without secrets, for its log.
import type { TObject } from 'typebox';
import { redactUrl } from '../log.ts';
import type { Rule } from './explain.ts';

/** Every setting by its name: a secret shows only that it is set, and an address loses credentials and query. */
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
  return maskAddresses(value);
}

/** One or several addresses without logins and queries. A query may hold secrets too, such as `tlsCertificateKeyFilePassword`. */
export function maskAddresses(text: string): string {
  const shown = text.split(/,(?=\w+:\/\/)/).map(maskAddress);
  return shown.includes(undefined) ? hidden : shown.join();
}

/** The address without login and query. Undefined if it has a further `@`: the text before this `@` may be a password. */
function maskAddress(address: string): string | undefined {
  const shown = redactUrl(address).replace(/[?#][^]*$/, '?…');
  return !address.includes('@') || /^[^@]*:\/\/\*\*\*@[^@]*$/.test(shown) ? shown : undefined;
}
