/** A native dialog: the browser keeps the focus in it, closes it on Escape and dims the rest. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Button } from "./bits.tsx";

interface DialogProps {
  title: string;
  wide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, wide, onClose, children }: DialogProps): JSX.Element {
  const place = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = place.current;
    dialog?.showModal();
    // Where the person goes on: not at the cross that closes it.
    dialog?.querySelector<HTMLElement>("textarea, form input:not([type=checkbox]), .dialog-foot .button")?.focus();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape is the dialog's own; the click is on what lies around it
    <dialog
      ref={place}
      class={wide ? "wide" : ""}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === place.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <Button icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
