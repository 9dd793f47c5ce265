// Where the focus goes after a command: the control of the command was off meanwhile, or is gone, and has lost the focus.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { lastAsked } from '../desk.ts';

const headings = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('h2[data-file]')];

/** Shows the heading at the top of the window, with what is below it. */
function goTo(heading: HTMLElement | null | undefined): void {
  heading?.focus({ preventScroll: true });
  heading?.scrollIntoView();
}

/** The focus goes to the result as a run begins, to the first file that was read, or back to the control. */
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
}

/** Before a file is removed, the focus goes to the heading of the next file, of the file before, or of the page. */
export function focusBeside(within: Element): void {
  const all = headings();
  const at = all.findIndex((heading) => heading.closest('section')?.contains(within));
  goTo(all[at + 1] ?? all[at - 1] ?? document.querySelector('h1'));
}
