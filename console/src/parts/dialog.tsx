import type { ComponentChildren } from 'preact';
import { useId, useRef } from 'preact/hooks';

interface DialogProps {
  /** Of the button that opens it. */
  label: string;
  title: string;
  kind?: 'plain' | 'main' | 'danger';
  disabled?: boolean;
  onClose?: () => void;
  children: ComponentChildren;
}

/** A native dialog: Escape closes it, and the focus goes back to the button. */
export function Dialog({ label, title, kind = 'plain', disabled = false, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  return (
    <>
      <button type="button" class={kind} disabled={disabled} onClick={() => dialog.current?.showModal()}>
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={id} onClose={onClose}>
        <header class="row">
          <h2 id={id}>{title}</h2>
          <button type="button" class="small" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        {children}
      </dialog>
    </>
  );
}
