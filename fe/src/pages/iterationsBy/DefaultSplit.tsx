/** Says that steps nobody recorded were taken from a key node, with the way back to the whole recording. */
import type { Note } from "../../api/types";
import { visibleText } from "../../lib/visibleText";
import { setIterationsBy } from "./useKeyNodes";

export function DefaultSplit({ notes }: { readonly notes: readonly Note[] }) {
  const note = notes.find(({ code, evidence }) => code === "iterations_cut" && evidence["is_default"] === true);
  if (note === undefined) return null;
  return (
    <p role="note" className="soft choices">
      {visibleText(note.text)}
      <button type="button" className="button" onClick={() => setIterationsBy({ kind: "steps" })}>
        Whole recording
      </button>
    </p>
  );
}
