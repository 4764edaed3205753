/** The mark on a number that has a quality note, with a link to the note. */
import type { Note } from "../api/types";
import { visibleText } from "../lib/visibleText";

/** Column or fact key → the note about it: a note lists its keys in `evidence.columns`. */
export function notesByKey(notes: readonly Note[]): ReadonlyMap<string, Note> {
  const noteByKey = new Map<string, Note>();
  for (const note of notes) {
    const columns = note.evidence["columns"];
    if (!Array.isArray(columns)) continue;
    for (const column of columns) noteByKey.set(String(column), note);
  }
  return noteByKey;
}

export function noteId(note: Note): string {
  return `note-${note.code}`;
}

export function NoteMark({ note, about }: { readonly note: Note; readonly about: string }) {
  return (
    <button
      type="button"
      className="note-mark"
      title={`${visibleText(note.text)}\nClick to go to the note.`}
      aria-label={`Note on ${about}`}
      onClick={() => {
        const element = document.getElementById(noteId(note));
        element?.scrollIntoView({ block: "center" });
        element?.focus();
      }}
    >
      †
    </button>
  );
}
