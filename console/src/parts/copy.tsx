import { useState } from 'preact/hooks';

const canCopy = (): boolean => isSecureContext && navigator.clipboard !== undefined;

/** A button that copies `text`; nothing if the browser gives the page no clipboard. */
export function Copy({ text }: { text: string }) {
  const [{ of, said }, setSaid] = useState({ of: '', said: '' });
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setSaid({ of: text, said: 'Copied' }),
      () => setSaid({ of: text, said: 'The browser refuses to copy' }),
    );
  };
  if (!canCopy()) return null;
  return (
    <button type="button" class="small" onClick={copy}>
      {of === text ? said : 'Copy'}
    </button>
  );
}
