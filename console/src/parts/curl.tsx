import { useState } from 'preact/hooks';
import { curlOf, type Request } from '../api/request.ts';

const canCopy = (): boolean => isSecureContext && navigator.clipboard !== undefined;

/** The command that does the same as the button or the view beside it. */
export function Curl({ request, what = 'curl' }: { request: Request; what?: string }) {
  const [copied, setCopied] = useState(false);
  const text = curlOf(request, document.baseURI);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <details class="curl" onToggle={() => setCopied(false)}>
      <summary>{what}</summary>
      <pre tabIndex={0} aria-label="The same as a command">
        {text}
      </pre>
      {canCopy() && (
        <button type="button" class="small" onClick={copy}>
          {copied ? 'Copied' : 'Copy'}
        </button>
      )}
    </details>
  );
}
