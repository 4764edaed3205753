/** What the recording was cut into where that is not plain: by what was found, or into one, with what would find more. */
import type { Note } from "../../api/types";
import { visibleText } from "../../lib/visibleText";
import { useParams } from "../../state/urlStore";
import { noteId } from "../../ui/noteMarks";
import { takeCut } from "../iterationsBy/useKeyNodes";

const NO_STEPS = "no_steps";
/** Notes that this says, at the place where one asks for it. */
export const CUT_NOTES: readonly string[] = [NO_STEPS, "iterations_cut"];

export function HowCut({ notes }: { readonly notes: readonly Note[] }) {
  const isByStep = useParams()["iterations_by"] === undefined;
  const said = notes.filter(({ code }) => CUT_NOTES.includes(code));
  if (said.length === 0) return null;
  return (
    <section className="card" aria-label="How the recording was cut">
      {said.map((note) => (
        <div key={note.code} className="body beside" id={noteId(note)} tabIndex={-1}>
          <p>{visibleText(note.text)}</p>
          {note.code === NO_STEPS && isByStep && (
            <button type="button" className="button" onClick={() => takeCut({ kind: "auto" })}>
              Find iterations automatically
            </button>
          )}
        </div>
      ))}
    </section>
  );
}
