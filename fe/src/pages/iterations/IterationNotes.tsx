/** Notes about the iterations, each with a button that applies it. */
import type { Note } from "../../api/types";
import { visibleText } from "../../lib/visibleText";
import { useParams } from "../../state/urlStore";
import { noteId } from "../../ui/noteMarks";
import { setIterationsBy } from "../iterationsBy/useKeyNodes";
import { selectSteps } from "./useRangeDraft";

const NO_STEPS = "no_steps";
/** Codes of these notes. */
export const SPLIT_NOTES: readonly string[] = [NO_STEPS, "iterations_cut"];

/** How the recording was split into iterations, where that is not obvious. */
export function SplitNotes({ notes }: { readonly notes: readonly Note[] }) {
  const isByStep = useParams()["iterations_by"] === undefined;
  // How steps were split by default is said on every page.
  const splitNotes = notes.filter(({ code, evidence }) => SPLIT_NOTES.includes(code) && evidence["is_default"] !== true);
  if (splitNotes.length === 0) return null;
  return (
    <section className="card" aria-label="How steps were split">
      {splitNotes.map((note) => (
        <div key={note.code} className="body beside" id={noteId(note)} tabIndex={-1}>
          <p>{visibleText(note.text)}</p>
          {note.code === NO_STEPS && isByStep && (
            <button type="button" className="button" onClick={() => setIterationsBy({ kind: "auto" })}>
              Detect iterations automatically
            </button>
          )}
        </div>
      ))}
    </section>
  );
}

export const STEADY_RANGE = "steady_range";

/** The range that the server suggests, in which iterations vary less. */
export function SteadyRange({ notes }: { readonly notes: readonly Note[] }) {
  const { steps: now } = useParams() as Record<string, string | undefined>;
  const note = notes.find(({ code }) => code === STEADY_RANGE);
  const steps = note?.evidence["steps"];
  if (note === undefined || typeof steps !== "string" || steps === now) return null;
  return (
    <section className="card" aria-label="Suggested range">
      <div className="body beside" id={noteId(note)} tabIndex={-1}>
        <p>
          <b>Suggested range: steps {visibleText(steps.replace(":", "–"))}.</b> {visibleText(note.text)}
        </p>
        <button type="button" className="button" onClick={() => selectSteps(steps)}>
          Select {visibleText(steps)}
        </button>
      </div>
    </section>
  );
}
