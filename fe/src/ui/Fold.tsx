/** What is long and secondary, folded below a line that says what is inside. Open ones are in the address. */
import type { ReactNode } from "react";

import { useOpenInAddress } from "../state/openIds";

interface Props {
  /** Within the page. */
  readonly id: string;
  readonly title: string;
  /** What it says, in one line. */
  readonly answer?: string;
  readonly children: ReactNode;
}

/** Parameter of the address. */
const KEY = "folds";

export function Fold({ id, title, answer = "", children }: Props) {
  const { isOpen, setOpen } = useOpenInAddress(KEY);
  const open = isOpen(id);
  return (
    <details
      className="fold"
      open={open}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open !== open) setOpen(id, currentTarget.open);
      }}
    >
      <summary>
        <b>{title}</b> <span className="soft">{answer}</span>
      </summary>
      {open && <div className="page">{children}</div>}
    </details>
  );
}
