// The part of the overview that shows and sets expectations: how often the integration means to push.
import { useState } from 'preact/hooks';
import { put } from '../api/request.ts';
import { nowOfGateway } from '../api/session.ts';
import type { Expectations } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Off } from '../parts/off.tsx';
import { ProblemLine } from '../parts/problem.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { linkTo } from '../state/route.ts';
import type { Loaded } from '../state/use-load.ts';
import { sentenceOfOverdue } from '../text/expected.ts';

export const expectationsRead = 'integration:expectations:read';
const expectationsWrite = 'integration:expectations:write';

const kinds = ['suppliers', 'products', 'batches'] as const;
type Kind = (typeof kinds)[number];

const entityTypes = { suppliers: 'supplier', products: 'product', batches: 'batch' } as const;

/** The kinds whose push is overdue. */
export const overdueIn = (all: Expectations | undefined): Kind[] =>
  kinds.filter((kind) => all?.[kind]?.isOverdue === true);

/** A card for each overdue push, below "Needs a hand" in the overview. */
export const OverdueCards = ({ of }: { of: Loaded<Expectations> }) =>
  overdueIn(of.answer?.body).map((kind) => {
    const expected = of.answer?.body[kind];
    return (
      <li key={kind}>
        <p>
          <span class="dot failing" aria-hidden="true" />
          {expected && sentenceOfOverdue(kind, expected, nowOfGateway())}.
        </p>
        <a class="button" href={linkTo('runs', [], { entityType: entityTypes[kind] })}>
          See its runs
        </a>
      </li>
    );
  });

export function ExpectedPushes({ of, isOff }: { of: Loaded<Expectations>; isOff: boolean }) {
  return (
    <section aria-labelledby="expected">
      <h2 id="expected">Expected pushes</h2>
      {isOff ? <Off scope={expectationsRead} what="What is expected" /> : <ProblemLine of={of} />}
      {of.answer !== undefined && (
        <Table
          label="When pushes of each kind are due"
          heads={['Kind', 'Last push', 'Due', 'Expected every']}
        >
          {kinds.map((kind) => (
            <Row key={kind} kind={kind} all={of.answer?.body} onDone={of.reload} />
          ))}
        </Table>
      )}
    </section>
  );
}

interface RowProps {
  kind: Kind;
  all: Expectations | undefined;
  onDone: () => void;
}

function Row({ kind, all, onDone }: RowProps) {
  const expected = all?.[kind] ?? null;
  const [typed, setTyped] = useState<string>();
  const hours = typed ?? String(expected?.everyHours ?? '');
  const isWrong = hours !== '' && !(/^\d{1,3}$/.test(hours) && Number(hours) >= 1 && Number(hours) <= 744);
  const everyHours = hours === '' ? null : Number(hours);
  const lastPushAt = expected?.lastPushAt ?? null;
  return (
    <tr>
      <th scope="row">{kind}</th>
      <td>{lastPushAt === null ? '–' : <Time at={lastPushAt} />}</td>
      <td>{expected === null ? '–' : <Time at={expected.dueAt} />}</td>
      <td class="row">
        <input
          aria-label={`Hours between two pushes of ${kind}`}
          inputMode="numeric"
          size={4}
          value={hours}
          onInput={({ currentTarget }) => setTyped(currentTarget.value.trim())}
        />
        h
        <Action<Expectations>
          label={`Set for ${kind}`}
          scope={expectationsWrite}
          disabled={isWrong}
          request={put('/expectations', { [kind]: everyHours === null ? null : { everyHours } })}
          said={() => (everyHours === null ? 'Nothing is expected any more.' : 'Set.')}
          onDone={onDone}
        />
        <output class="bad">{isWrong && 'a whole number from 1 to 744'}</output>
      </td>
    </tr>
  );
}
