/** The small button in a cell with a kernel's name: one click copies the full name. */
import { useEffect, useState } from "react";

import { CopyIcon } from "../app/icons";
import { copyText } from "../lib/download";

const SAID_MS = 1200;

export function CopyName({ name }: { readonly name: string }) {
  const [said, setSaid] = useState<string | null>(null);
  useEffect(() => {
    if (said === null) return;
    const timer = setTimeout(() => setSaid(null), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <button
      type="button"
      className={`copy-name no-print${said === null ? "" : " said"}`}
      tabIndex={-1}
      aria-label="Copy full name"
      title="Copy the full name (Ctrl+C in the cell)"
      onClick={(event) => {
        event.stopPropagation();
        void copyText(name).then((done) => setSaid(done ? "✓" : "✗"));
      }}
    >
      <span role={said === null ? undefined : "status"}>{said ?? <CopyIcon />}</span>
    </button>
  );
}
