import { lacks, session } from '../api/session.ts';
import { useStore } from '../state/store.ts';

export const useLacks = (scope: string): boolean => lacks(useStore(session), scope);

/** Shown in place of a part of the page whose scope the token lacks. */
export function Off({ scope, what }: { scope: string; what: string }) {
  return (
    <p class="off">
      {what} needs the scope <code>{scope}</code>, which your token does not carry.
    </p>
  );
}
