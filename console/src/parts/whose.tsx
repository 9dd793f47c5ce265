import { session } from '../api/session.ts';
import { useStore } from '../store.ts';

/** Names the integration of the session, where a person types something secret. */
export function Whose() {
  const { described } = useStore(session);
  if (described === undefined) return undefined;
  return (
    <p class="quiet">
      You are signed in to <strong>{described.integrationId}</strong>.
    </p>
  );
}
