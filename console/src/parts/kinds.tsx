import { useKinds } from '../state/kinds.ts';

/** Boxes to tick, one for each kind of event. */
export function KindBoxes({
  chosen,
  onChange,
}: {
  chosen: readonly string[];
  onChange: (kinds: string[]) => void;
}) {
  const kinds = useKinds();
  return (
    <fieldset class="kinds">
      <legend>Events</legend>
      {kinds.map(({ name }) => (
        <label key={name}>
          <input
            type="checkbox"
            checked={chosen.includes(name)}
            onChange={({ currentTarget }) =>
              onChange(currentTarget.checked ? [...chosen, name] : chosen.filter((one) => one !== name))
            }
          />
          {name}
        </label>
      ))}
      <span class="row">
        <button type="button" class="small" onClick={() => onChange(kinds.map(({ name }) => name))}>
          All
        </button>
        <button type="button" class="small" onClick={() => onChange([])}>
          None
        </button>
      </span>
    </fieldset>
  );
}
