import { lacks, session } from '../api/session.ts';
import { useStore } from '../state/store.ts';

export const useLacks = (scope: string): boolean => lacks(useStore(session), scope);

/** In place of what the token does not allow. */
export function Off({ scope, what }: { scope: string; what: string }) {
  return (
    <p class="off">
      {what} needs the scope <code>{scope}</code>, which your token does not carry.
    </p>
  );
}
