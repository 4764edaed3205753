/** On a narrow window the pages are in a drawer: a dialog, so that the focus stays inside and Escape closes it. */
import { useEffect, useRef, useState, type ReactNode } from "react";

import { MenuIcon } from "../ui/icons";

interface Props {
  /** Title of the shown page. */
  readonly title: string;
  readonly children: ReactNode;
}

export function RailDrawer({ title, children }: Props) {
  const [open, setOpen] = useState(false);
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  return (
    <>
      <button type="button" className="button drawer-button" aria-haspopup="dialog" aria-expanded={open} title="Pages" onClick={() => setOpen(true)}>
        <MenuIcon /> {title}
      </button>
      <dialog
        ref={dialog}
        className="drawer"
        aria-label="Pages"
        onClose={() => setOpen(false)}
        onClick={({ target }) => {
          // The dialog itself is hit beside its content: on the backdrop. A link leads to another page.
          if (target === dialog.current || (target as Element).closest("a") !== null) setOpen(false);
        }}
      >
        <div className="drawer-body">
          <button type="button" className="button quiet" onClick={() => setOpen(false)}>
            Close
          </button>
          {children}
        </div>
      </dialog>
    </>
  );
}
