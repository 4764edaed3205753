/** How far a trace and the memory snapshot of its process agree, in a sentence. */
import type { Note } from "../api/types";
import { visibleText } from "../lib/visibleText";

const CODE = "snapshot_agreement";

/** The sentence; nothing where no snapshot is joined. */
export function SnapshotAgreement({ notes }: { readonly notes: readonly Note[] }) {
  const note = notes.find(({ code }) => code === CODE);
  return note === undefined ? null : <p className="soft">{visibleText(note.text)}</p>;
}
