// A drill: a dozen deliveries, right and forged, and a list of what the receiver answered to each and should have answered.
import { post } from '../api/request.ts';
import type { DrillResult } from '../api/shapes.ts';
import { Action } from '../parts/action.tsx';
import { Table } from '../parts/table.tsx';
import { counted } from '../text/count.ts';
import { durationOf } from '../text/time.ts';
import { webhooksWrite } from './webhooks.tsx';

type Checks = DrillResult['checks'];

export const Drill = ({ path, onDone }: { path: string; onDone: (checks: Checks) => void }) => (
  <Action<DrillResult>
    label="Drill"
    scope={webhooksWrite}
    request={post(`${path}/drill`)}
    said={saidOfDrill}
    isGood={({ passed }) => passed}
    onDone={({ checks }) => onDone(checks)}
  />
);

export const Drilled = ({ checks }: { checks: Checks }) => (
  <section aria-label="Drill">
    <Table label="Checks of the drill" heads={['Check', 'Expected', 'Answered', '#Took', 'Advice']}>
      {checks.map(({ name, expected, answered, tookMs, passed, advice }) => (
        <tr key={name}>
          <td>{name}</td>
          <td>{expected}</td>
          <td class={passed ? 'good' : 'bad'}>{answered ?? 'nothing'}</td>
          <td class="number">{durationOf(tookMs)}</td>
          <td>{advice ?? <span class="quiet">none</span>}</td>
        </tr>
      ))}
    </Table>
  </section>
);

const saidOfDrill = ({ passed, checks }: DrillResult): string => {
  const failed = checks.filter((check) => !check.passed).length;
  if (passed) return `All ${checks.length} checks passed.`;
  return `${counted(failed, 'check')} of ${checks.length} failed: the list says what to mend.`;
};
