import { Copy } from './copy.tsx';

/** A signing secret, which the interface shows once. */
export function Secret({ secret }: { secret: string }) {
  return (
    <div class="secret">
      <p>
        The signing secret, shown now and never again. Your receiver checks with it that a delivery comes from
        here: <code>docs/receiving-webhooks.md</code> has the code.
      </p>
      <code tabIndex={0}>{secret}</code>
      <Copy text={secret} />
    </div>
  );
}
