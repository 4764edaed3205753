/** A range in which the iterations vary less, as the server proposes it; one button takes it. */
import type { Note } from "../../api/types";
import { visibleText } from "../../lib/visibleText";
import { useParams } from "../../state/urlStore";
import { noteId } from "../../ui/noteMarks";
import { selectSteps } from "./useRangeDraft";

export const STEADY_RANGE = "steady_range";

export function SteadyRange({ notes }: { readonly notes: readonly Note[] }) {
  const { steps: now } = useParams() as Record<string, string | undefined>;
  const note = notes.find(({ code }) => code === STEADY_RANGE);
  const steps = note?.evidence["steps"];
  if (note === undefined || typeof steps !== "string" || steps === now) return null;
  return (
    <section className="card" aria-label="Steady range">
      <div className="body beside" id={noteId(note)} tabIndex={-1}>
        <p>
          <b>A steadier range.</b> {visibleText(note.text)}
        </p>
        <button type="button" className="button" onClick={() => selectSteps(steps)}>
          Select {visibleText(steps)}
        </button>
      </div>
    </section>
  );
}
