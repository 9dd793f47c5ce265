import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { session } from '../api/session.ts';
import { InFlight } from './action.tsx';

interface DialogProps {
  /** The label of the button that opens the dialog. */
  label: string;
  title: string;
  kind?: 'plain' | 'main' | 'danger';
  disabled?: boolean;
  onClose?: () => void;
  children: ComponentChildren;
}

/**
 * A native dialog: Escape closes it, and the focus goes back to the button. Each opening shows new content, unless a request
 * was in flight at the closing, or the token has ended: then the next opening shows the answer, which may be a secret, or the
 * text that a person has typed.
 */
export function Dialog({ label, title, kind = 'plain', disabled = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const { current: inFlight } = useRef({ requests: 0 });
  const id = useId();
  const open = (): void => {
    setOpen(true);
    dialog.current?.showModal();
  };
  const end = (): void => {
    if (inFlight.requests > 0 || session.get().ended !== undefined) return;
    setOpen(false);
    onClose?.();
  };
  return (
    <>
      <button type="button" class={kind} disabled={disabled} onClick={open}>
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={id} onClose={end}>
        <header class="row">
          <h2 id={id}>{title}</h2>
          <button type="button" class="small" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        <InFlight.Provider value={inFlight}>{isOpen && children}</InFlight.Provider>
      </dialog>
    </>
  );
}
