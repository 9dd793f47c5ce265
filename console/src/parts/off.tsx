/** Shown in place of a part of the page whose scope the token lacks. */
export function Off({ scope, what }: { scope: string; what: string }) {
  return (
    <p class="off">
      {what} needs the scope <code>{scope}</code>, which your token does not carry.
    </p>
  );
}
