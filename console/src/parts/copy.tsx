import { useState } from 'preact/hooks';

const canCopy = (): boolean => isSecureContext && navigator.clipboard !== undefined;

/** Copies the text beside it, where the browser lets a page do so. */
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
