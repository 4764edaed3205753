/** The notes on the timeline: add, edit, remove, and go to each. */
import { useEffect, useRef, useState } from "react";

import { formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { announce } from "./announce";
import { FULL, formatNotes, MAX_NOTE_CHARACTERS, type Note, type NotePosition } from "./notes";
import { PanelFrame } from "./PanelFrame";
import { writeAddress } from "./visit";

interface Props {
  /** In order of time, in the time of the page's worker. */
  readonly notes: readonly Note[];
  /** Where a new one goes. */
  readonly position: NotePosition;
  readonly onShow: (note: Note) => void;
  readonly onClose: () => void;
}

export function NotesPanel({ notes, position, onShow, onClose }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const save = (next: readonly Note[], done: string) => {
    const text = formatNotes(next);
    setProblem(text === null ? FULL : null);
    if (text === null) return false;
    writeAddress({ notes: text === "" ? null : text });
    announce(done);
    return true;
  };
  return (
    <PanelFrame title="Notes" onClose={onClose} note={<span className="soft">in the address: whoever has the link sees them</span>}>
      <NewNote key={`${position.timeNs} ${String(position.slice)}`} position={position} onAdd={(text) => save([...notes, { ...position, text }], "Note added.")} />
      {problem !== null && <p role="alert">{problem}</p>}
      {notes.length === 0 ? (
        <p className="soft">No notes yet. Press t with a slice selected to put one on it, or without for the middle of the screen.</p>
      ) : (
        <ol className="tl-notes">
          {notes.map((note, index) => (
            <li key={`${note.timeNs} ${String(note.slice)} ${note.text}`}>
              <button type="button" className="frame-link" title="Show it on the timeline" onClick={() => onShow(note)}>
                {momentText(note)}
              </button>
              <Text
                label={`Text of note ${index + 1}`}
                text={note.text}
                onChange={(text) => {
                  if (text !== note.text) save(text === "" ? notes.toSpliced(index, 1) : notes.with(index, { ...note, text }), text === "" ? "Note removed." : "Note changed.");
                }}
              />
              <button type="button" className="button quiet icon" aria-label={`Remove note ${index + 1}`} title="Remove" onClick={() => save(notes.toSpliced(index, 1), "Note removed.")}>
                ✕
              </button>
            </li>
          ))}
        </ol>
      )}
    </PanelFrame>
  );
}

function momentText({ timeNs, slice }: NotePosition): string {
  const at = `at ${formatValue(timeNs / 1000, "us")}`;
  return slice === null ? at : `slice ${slice}, ${at}`;
}

function NewNote({ position, onAdd }: { readonly position: NotePosition; readonly onAdd: (text: string) => boolean }) {
  const [text, setText] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  return (
    <form
      className="tl-note-new"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "" && onAdd(text)) setText("");
      }}
    >
      <label>
        New note {momentText(position)}
        <input ref={field} className="field" value={text} maxLength={MAX_NOTE_CHARACTERS} onChange={({ target }) => setText(target.value)} />
      </label>
      <button type="submit" className="button" disabled={text.trim() === ""}>
        Add
      </button>
    </form>
  );
}

/** A text that is changed in place: by Enter, or when the focus leaves it. */
function Text({ label, text, onChange }: { readonly label: string; readonly text: string; readonly onChange: (text: string) => void }) {
  const [typed, setTyped] = useState(visibleText(text));
  return (
    <input
      className="field"
      aria-label={label}
      value={typed}
      maxLength={MAX_NOTE_CHARACTERS}
      onChange={({ target }) => setTyped(target.value)}
      onBlur={() => onChange(typed.trim())}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") currentTarget.blur();
      }}
    />
  );
}
