import type { ComponentChildren } from 'preact';
import type { Loaded } from '../state/use-load.ts';
import type { Listing } from '../api/shapes.ts';
import { route, withQuery } from '../state/route.ts';
import { useStore } from '../store.ts';
import { counted } from '../text/count.ts';

/** A table that is too wide scrolls sideways in a box of its own, so that the page does not. */
export function Table({
  label,
  heads,
  children,
}: {
  label: string;
  /** A heading that begins with # belongs to a column of numbers. */
  heads: readonly string[];
  children: ComponentChildren;
}) {
  return (
    <div class="scroll" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col" class={head.startsWith('#') ? 'number' : ''}>
                {head.replace('#', '')}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

/** The total of a listing, and a link to its next page; the browser's own button leads back. */
export function Pager({ of, noun, nouns }: { of: Loaded<Listing<unknown>>; noun: string; nouns?: string }) {
  const here = useStore(route);
  if (of.answer === undefined) return null;
  const { body, cursor } = of.answer;
  return (
    <p class="pager">
      <span>
        {body.entities.length.toLocaleString('en')} of {counted(body.total, noun, nouns)}
      </span>
      {here.query['cursor'] !== undefined && <a href={withQuery(here, {})}>First page</a>}
      {cursor !== undefined && <a href={withQuery(here, { cursor })}>Next page</a>}
    </p>
  );
}
