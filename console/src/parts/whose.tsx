import { session } from '../api/session.ts';
import { useStore } from '../store.ts';

/** Shows the integration of the session wherever a person types a secret. */
export function Whose() {
  const { described } = useStore(session);
  if (described === undefined) return undefined;
  return (
    <p class="quiet">
      You are signed in to <strong>{described.integrationId}</strong>.
    </p>
  );
}
