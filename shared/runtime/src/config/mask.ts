// The settings of a process as its log may show them.
import type { TObject } from 'typebox';
import type { Rule } from './explain.ts';

/** Every setting by its name. Of a secret it says only that it is set; an address loses what stands before its last @, and its options. */
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
  const [, scheme, rest = ''] = /^(\w[\w+.-]*:\/\/)([^]*)$/.exec(value) ?? [];
  if (scheme === undefined) return value.includes('@') ? hidden : value;
  const at = rest.lastIndexOf('@');
  const shown = at < 0 ? rest : `…@${rest.slice(at + 1)}`;
  return `${scheme}${shown.replace(/[?#][^]*$/, '?…')}`;
}
