/** Keys, the filter syntax, and the settings. */
import { useEffect, useRef } from "react";

import { EditorForm } from "../source/EditorForm";
import { KEY_HELP } from "../timeline/keys";
import { isTyping } from "../ui/isTyping";

interface Props {
  readonly open: boolean;
  readonly onOpen: () => void;
  readonly onClose: () => void;
}

const KEYS: readonly (readonly [string, string])[] = [
  ["/", "find a name in every view"],
  ["?", "this page"],
  ["← ↑ ↓ →", "move in a table"],
  ["Enter", "open or close the row; → and ← do so in its first column"],
  ["Ctrl C", "copy the cell; with Shift the row"],
  ["Shift click", "on a header: sort by one more column"],
  ["Ctrl Enter", "in the SQL editor: run the query; Ctrl Space suggests names"],
];

const FILTERS: readonly (readonly [string, string])[] = [
  ["gemm", "text that contains it, in upper or lower case"],
  ["!nccl", "text that does not contain it"],
  ["=aten::add", "exactly this text"],
  ["=~^aten::(conv|mm)", "a regular expression; !=~ for text that does not match"],
  [">100   <=5", "numbers, in the unit of the header"],
  [">2ms   >1GB", "numbers with a unit"],
  ["10..20", "a range, both ends included"],
  ["-", "no value;  !- any value"],
];

export function HelpDialog({ open, onOpen, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
    else dialog.current?.close();
  }, [open]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "?" && !isTyping(event.target)) onOpen();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [onOpen]);
  return (
    <dialog ref={dialog} onClose={onClose} aria-label="Help and settings">
      <div className="page-head">
        <h1>Help and settings</h1>
        <span style={{ flex: 1 }} />
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
      <div className="columns help">
        <section>
          <h2>Keys</h2>
          <Pairs rows={KEYS} keyed />
        </section>
        <section>
          <h2>Filters of a column</h2>
          <Pairs rows={FILTERS} keyed={false} />
        </section>
        <section>
          <h2>Keys of the timeline</h2>
          <Pairs rows={KEY_HELP} keyed />
        </section>
      </div>
      <p>
        The address holds everything on screen: a copied link shows a colleague the same page. Hover a header for what its numbers mean, a
        number for its exact value, and a “–” for why it is missing. “est.” marks estimates; † links to a note on the quality of the number.
      </p>
      <EditorForm />
    </dialog>
  );
}

function Pairs({ rows, keyed }: { readonly rows: readonly (readonly [string, string])[]; readonly keyed: boolean }) {
  return (
    <dl className="facts">
      {rows.map(([term, text]) => (
        <div key={term} style={{ display: "contents" }}>
          <dt>{keyed ? <kbd>{term}</kbd> : <code className="mono">{term}</code>}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
