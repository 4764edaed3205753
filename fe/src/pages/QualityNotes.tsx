/** Notes on what limits the numbers of a view. */
import type { Note } from "../api/types";
import { formatNumber } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { noteId } from "../ui/noteMarks";

/** Code of the note that the selection does not apply to the view; shown at the top. */
export const SELECTION_IGNORED = "phase_not_narrowing";

/** Warnings first, otherwise in the order of the server. */
export function worstFirst(notes: readonly Note[]): Note[] {
  const rank = (note: Note) => (note.severity === "warning" ? 0 : 1);
  return notes.toSorted((a, b) => rank(a) - rank(b));
}

export function QualityNotes({ notes, always }: { readonly notes: readonly Note[]; readonly always: boolean }) {
  const quality = worstFirst(notes.filter(({ kind, code }) => kind === "quality" && code !== SELECTION_IGNORED));
  if (quality.length === 0 && !always) return null;
  return (
    <section className="card" aria-label="Quality of the numbers">
      <header>
        <h2>Quality of the numbers</h2>
      </header>
      <div className="body">
        {quality.length === 0 ? (
          <p className="soft">Everything in the file was read and counted.</p>
        ) : (
          <ul className="notes">
            {quality.map((note, index) => (
              <li key={`${note.code} ${index}`} id={noteId(note)} tabIndex={-1} title={note.code}>
                <span aria-hidden="true">{note.severity === "warning" ? "⚠" : "·"}</span>
                <span>
                  {visibleText(note.text)}
                  <Details note={note} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

const EXAMPLES = 3;

function Details({ note }: { readonly note: Note }) {
  const text = noteDetails(note);
  return text === "" ? null : <span className="soft"> {visibleText(text)}</span>;
}

/** The count, unless the text has it already, and examples. */
export function noteDetails({ text, evidence: { count, examples } }: Note): string {
  const shown = Array.isArray(examples) ? examples.slice(0, EXAMPLES).map((example) => exampleText(example)) : [];
  const parts = [
    ...(typeof count === "number" && count !== 1 && !mentionsNumber(text, count) ? [`${formatNumber(count)} times`] : []),
    ...(shown.length > 0 ? [`for example ${shown.join(", ")}`] : []),
  ];
  return parts.join("; ");
}

/** Whether the text has the number, however its digits are grouped. */
function mentionsNumber(text: string, number: number): boolean {
  const numbers: readonly string[] = text.replace(/(?<=\d)[\s\u202f,](?=\d{3}(?!\d))/g, "").match(/\d+/g) ?? [];
  return numbers.includes(String(number));
}

function exampleText(example: unknown): string {
  return typeof example === "string" ? example : JSON.stringify(example);
}
