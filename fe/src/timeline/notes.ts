/**
 * Notes of the user on the timeline, in the address, so that a link or a saved report has them:
 *
 *     notes=1200 warm-up ends⏎5000@17 why so long?      a line per note: ns since the first event of the page's worker,
 *                                                      the slice it is on, the text
 *     note=1200|5000@17                                the panel of notes is open, for a new one there
 *
 * `views/timeline/notes.py` reads the same.
 */
export interface Note {
  readonly timeNs: number;
  /** The slice it is on; null for a moment. */
  readonly slice: number | null;
  readonly text: string;
}

export type NotePosition = Omit<Note, "text">;

/** Addresses stay short enough for every browser and chat. */
export const MAX_NOTES = 30;
export const MAX_NOTE_CHARACTERS = 120;
export const MAX_ALL_CHARACTERS = 2000;

const POSITION = /^(\d{1,15})(?:@(\d{1,15}))?$/;

/** The notes in order of time; what is malformed, or beyond the limits, is left out. */
export function parseNotes(text: string | undefined): readonly Note[] {
  return (text ?? "")
    .slice(0, MAX_ALL_CHARACTERS)
    .split("\n")
    .flatMap((line): Note[] => {
      const space = line.indexOf(" ");
      const position = parsePosition(line.slice(0, Math.max(space, 0)));
      const text = clean(line.slice(space + 1));
      return position === null || text === "" ? [] : [{ ...position, text }];
    })
    .slice(0, MAX_NOTES)
    .toSorted((one, other) => one.timeNs - other.timeNs);
}

export function parsePosition(text: string | undefined): NotePosition | null {
  const match = POSITION.exec(text ?? "");
  if (match === null) return null;
  return { timeNs: Number(match[1]), slice: match[2] === undefined ? null : Number(match[2]) };
}

export function formatPosition({ timeNs, slice }: NotePosition): string {
  return `${Math.max(0, Math.round(timeNs))}${slice === null ? "" : `@${slice}`}`;
}

/** Null where they are too many or too long for the address. */
export function formatNotes(notes: readonly Note[]): string | null {
  const lines = notes.map((note) => `${formatPosition(note)} ${clean(note.text)}`).join("\n");
  return notes.length > MAX_NOTES || lines.length > MAX_ALL_CHARACTERS ? null : lines;
}

/** One line of text. */
function clean(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f]+/g, " ").trim().slice(0, MAX_NOTE_CHARACTERS);
}

export const FULL = `The address holds ${MAX_NOTES} notes and ${MAX_ALL_CHARACTERS} characters; remove one, or shorten one.`;
