/** The small button in a cell with a kernel's name: one click copies the full name. */
import { copyText } from "../lib/download";
import { CopyIcon } from "../ui/icons";
import { useBriefMessage } from "../ui/useBriefMessage";

export function CopyName({ name }: { readonly name: string }) {
  const [said, setSaid] = useBriefMessage();
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
