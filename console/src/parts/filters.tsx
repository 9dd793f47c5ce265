import { useId } from 'preact/hooks';
import { goTo, route, withQuery } from '../state/route.ts';
import { useStore } from '../store.ts';

interface ChoiceProps {
  name: string;
  label: string;
  /** Values with their words; the empty value means no filter. */
  options: readonly (readonly [value: string, words: string])[];
}

/** A filter whose value is kept in the route, and so in the page's address. */
export function Choice({ name, label, options }: ChoiceProps) {
  const id = useId();
  const here = useStore(route);
  const chosen = here.query[name];
  return (
    <span class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={options.some(([value]) => value === chosen) ? chosen : ''}
        onChange={({ currentTarget }) => goTo(withQuery(here, { [name]: currentTarget.value }))}
      >
        {options.map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </span>
  );
}
