/** What is long and secondary, folded below a line that says what is inside. Open ones are in the address. */
import type { ReactNode } from "react";

import { useOpenInAddress } from "../state/openIds";
import { adjust, useParams } from "../state/urlStore";

interface Props {
  /** Within the page; of a table its name, so that a link to the table opens the fold. */
  readonly id: string;
  readonly title: string;
  /** What it says, in one line. */
  readonly answer?: string;
  /** The tables in it, by default the one of its name: a link that names one opens it. */
  readonly tables?: readonly string[];
  /** Whether it is open without being in the address. */
  readonly isUsed?: boolean;
  readonly children: ReactNode;
}

/** Parameter of the address. */
const KEY = "folds";

export function Fold({ id, title, answer = "", tables = [id], isUsed = false, children }: Props) {
  const { isOpen, setOpen } = useOpenInAddress(KEY);
  const { table } = useParams() as Record<string, string | undefined>;
  const isNamed = table !== undefined && tables.includes(table);
  const open = isOpen(id) || isNamed || isUsed;
  return (
    <details
      className="fold"
      open={open}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open === open) return;
        setOpen(id, currentTarget.open);
        if (isNamed) adjust({ table: null });
      }}
    >
      <summary>
        <b>{title}</b> <span className="soft">{answer}</span>
      </summary>
      {open && <div className="page">{children}</div>}
    </details>
  );
}
