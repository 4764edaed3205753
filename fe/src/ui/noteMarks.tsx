/** The small mark beside a number that a quality note speaks of; it leads to the note. */
import type { Note } from "../api/types";
import { visibleText } from "../lib/visibleText";

/** Column or fact key → the note that bends it: a note names them in `evidence.columns`. */
export function notedKeys(notes: readonly Note[]): ReadonlyMap<string, Note> {
  const noted = new Map<string, Note>();
  for (const note of notes) {
    const columns = note.evidence["columns"];
    if (!Array.isArray(columns)) continue;
    for (const column of columns) noted.set(String(column), note);
  }
  return noted;
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
        const place = document.getElementById(noteId(note));
        place?.scrollIntoView({ block: "center" });
        place?.focus();
      }}
    >
      †
    </button>
  );
}
