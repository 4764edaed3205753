/** Where notes are: in the time of the page's worker in the address, in that of the stack on screen. */
import type { TimelineSlicePayload } from "../generated/schema";
import type { Note, NotePosition } from "./notes";
import { partOf, type Stack, type StackPart } from "./stack";
import type { Stage } from "./stage";

export function noteOnScreen({ shiftNs }: StackPart, note: Note): Note {
  return { ...note, timeNs: note.timeNs + shiftNs };
}

/** Of a new note: on the selected slice, where the page's worker has it, else at its start, else at the middle of the screen. */
export function positionOfNote(stage: Stage, stack: Stack, selected: TimelineSlicePayload | null): NotePosition {
  const [first] = stack.parts;
  const { startNs, endNs } = stage.destination;
  const timeNs = Math.max(0, Math.round((selected === null ? (startNs + endNs) / 2 : selected.start_ns) - first.shiftNs));
  return { timeNs, slice: selected !== null && partOf(stack, selected.track) === first ? selected.id : null };
}
