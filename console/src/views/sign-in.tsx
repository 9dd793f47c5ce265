import { useId, useState } from 'preact/hooks';
import { signIn } from '../api/session.ts';

/** Asks for a token or a key; `ended` says why the page needs another one, `refused` why a link has brought none. */
export function SignIn({ ended, refused }: { ended?: string; refused?: string | undefined }) {
  const [text, setText] = useState('');
  const id = useId();
  const isToken = /^[\w~+/.=-]+$/.test(text.trim());
  const form = (
    <form
      class="sign-in"
      onSubmit={(event) => {
        event.preventDefault();
        if (isToken) signIn(text.trim());
      }}
    >
      <label for={id}>Access token or API key</label>
      <input
        id={id}
        type="password"
        required
        autocomplete="off"
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <button type="submit" class="main">
        Open
      </button>
      {text !== '' && !isToken && <span class="bad">That is neither a token nor a key.</span>}
    </form>
  );
  if (ended !== undefined) {
    return (
      <section class="ended" role="alert">
        <p>{ended} What you see stays; paste another one to go on.</p>
        {form}
      </section>
    );
  }
  return (
    <main class="door">
      <h1>Integration Sync</h1>
      <p>See what happened to your pushes, records and webhooks, and do something about it.</p>
      {refused !== undefined && (
        <p class="problem" role="alert">
          {refused} Paste a token instead: <code>npm run token</code> prints one.
        </p>
      )}
      {form}
      <p class="quiet">
        It stays in this tab alone and is gone with it. On a local stack, <code>npm run console</code> prints
        a link that opens this page for an hour.
      </p>
    </main>
  );
}
