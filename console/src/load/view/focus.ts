// Moves the focus after a command, because its control loses the focus while it is disabled or when it is removed.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { lastAsked } from '../page-desk.ts';

const headings = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('h2[data-file]')];

/** Focuses the heading, and scrolls it to the top of the window. */
function goTo(heading: HTMLElement | null | undefined): void {
  heading?.focus({ preventScroll: true });
  heading?.scrollIntoView();
}

/** Focuses the result when a run begins or ends, the first file when files were read, and else the former control. */
export function useFocus(isBusy: boolean, isRunning: boolean): void {
  const before = useRef({ isBusy, isRunning });
  useLayoutEffect(() => {
    const { isBusy: wasBusy, isRunning: wasRunning } = before.current;
    before.current = { isBusy, isRunning };
    const asked = lastAsked();
    const { activeElement } = document;
    const result = document.querySelector<HTMLElement>('#outcome');
    // If a person has moved the focus meanwhile, it stays there.
    if (![document.body, asked?.focused, result, null].includes(activeElement)) return;
    if (isRunning !== wasRunning) goTo(result);
    else if (wasBusy && !isBusy) goBack(asked);
  }, [isBusy, isRunning]);
}

function goBack(asked: ReturnType<typeof lastAsked>): void {
  const { command, focused } = asked ?? {};
  if (command?.do === 'choose') {
    const read = headings().find(({ dataset }) => command.files.some(({ name }) => name === dataset['file']));
    if (read !== undefined) {
      goTo(read);
      return;
    }
  }
  if (focused instanceof HTMLElement && focused !== document.activeElement) focused.focus();
  // If the control is gone, the heading of the page gets the focus.
  if (document.activeElement === document.body) goTo(document.querySelector('h1'));
}

/** Before a file is removed, the focus goes to the heading of the next file, of the file before, or of the page. */
export function focusBeside(within: Element): void {
  const all = headings();
  const at = all.findIndex((heading) => heading.closest('section')?.contains(within));
  goTo(all[at + 1] ?? all[at - 1] ?? document.querySelector('h1'));
}
