/** The end of every page: what the checks of its view saw, and what limits its numbers. */
import type { Note } from "../api/types";
import { Findings } from "./Findings";
import { QualityNotes } from "./QualityNotes";

export function PageNotes({ notes }: { readonly notes: readonly Note[] }) {
  return (
    <>
      <Findings notes={notes} always={false} />
      <QualityNotes notes={notes} always={false} />
    </>
  );
}
