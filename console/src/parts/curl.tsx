import { curlOf, type Request } from '../api/request.ts';
import { Copy } from './copy.tsx';

/** The curl command that sends the same request as the button or the view beside it. */
export function Curl({ request, what = 'curl' }: { request: Request; what?: string }) {
  const text = curlOf(request, document.baseURI);
  return (
    <details class="curl">
      <summary>{what}</summary>
      <pre tabIndex={0} aria-label="The same as a command">
        {text}
      </pre>
      <Copy text={text} />
    </details>
  );
}
