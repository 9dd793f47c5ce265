/** A signing secret, which the interface shows once. */
export function Secret({ secret }: { secret: string }) {
  return (
    <p class="secret">
      The signing secret, shown now and never again:
      <code tabIndex={0}>{secret}</code>
    </p>
  );
}
