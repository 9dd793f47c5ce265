import type { ComponentChildren } from 'preact';
import type { Loaded } from '../state/use-load.ts';
import type { Listing } from '../api/shapes.ts';
import { route, withQuery } from '../state/route.ts';
import { useStore } from '../state/store.ts';
import { counted } from '../text/count.ts';

/** Wide tables are moved sideways by themselves, and not the page. */
export function Table({
  label,
  heads,
  children,
}: {
  label: string;
  /** One that begins with # is of numbers. */
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

/** How many there are, and the way to the next page; the way back is the browser's. */
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
