import { useId, useState } from 'preact/hooks';
import { goTo, linkTo } from '../state/route.ts';
import { leadOf, type Lead } from '../text/box.ts';

/** The search box of the head, which opens the view of a run, a webhook, an event or a record by its id. */
export function Box() {
  const [text, setText] = useState('');
  const id = useId();
  return (
    <form
      class="box"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        const lead = leadOf(text);
        if (lead !== undefined) goTo(linkOf(lead));
      }}
    >
      <label for={id}>Go to an id</label>
      <input
        id={id}
        type="search"
        placeholder="run, webhook, event or record"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </form>
  );
}

function linkOf({ kind, id }: Lead): string {
  if (kind === 'run') return linkTo('runs', [id]);
  if (kind === 'webhook') return linkTo('webhooks', [id]);
  if (kind === 'event') return linkTo('events', [], { id });
  return linkTo('records', [], { externalId: id });
}
