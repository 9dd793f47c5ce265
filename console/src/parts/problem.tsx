import { useEffect } from 'preact/hooks';
import { useRedraw } from '../store.ts';
import type { Loaded } from '../state/use-load.ts';
import { shortTime, spanOf } from '../text/time.ts';

/** One line for a failed request. An older answer stays on the page, and the line says how old it is. */
export function ProblemLine({ of }: { of: Pick<Loaded<unknown>, 'problem' | 'at'> & { answer: unknown } }) {
  const { problem, at, answer } = of;
  const tick = useRedraw();
  const isOld = problem !== undefined && answer !== undefined;
  useEffect(() => {
    if (!isOld) return undefined;
    const timer = window.setInterval(tick, 1_000);
    return () => window.clearInterval(timer);
  }, [isOld]);
  if (problem === undefined) return null;
  const age = isOld
    ? ` What you see is from ${shortTime(new Date(at))}, ${spanOf(Date.now() - at)} old.`
    : '';
  return (
    <p class="problem" role="status">
      {problem.message}
      {/* A screen reader does not read out the age each second. */}
      <span aria-live="off">{age}</span>
      {problem.passes && ' The console asks again.'}
    </p>
  );
}
