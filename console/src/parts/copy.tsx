import { useState } from 'preact/hooks';

const canCopy = (): boolean => isSecureContext && navigator.clipboard !== undefined;

/** A button that copies `text`; nothing if the browser gives the page no clipboard. */
export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState<string>();
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setCopied(text),
      () => undefined,
    );
  };
  if (!canCopy()) return null;
  return (
    <button type="button" class="small" onClick={copy}>
      {copied === text ? 'Copied' : 'Copy'}
    </button>
  );
}
