/**
 * The text field of a query: a native one, below a painted copy of its text with colours, line numbers and the mark of
 * an error. Ctrl+Enter runs the query, Tab leaves the field.
 */
import { memo, useEffect, useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";

import { completionsAt, type Completion, type Completions } from "./completion";
import { CompletionList, optionId } from "./CompletionList";
import { characterBox, replaceText } from "./editing";
import type { ErrorRange } from "./errorPosition";
import type { TableNames } from "./relations";
import { linesOf, tokensOf, type PaintedRun } from "./tokens";

interface Props {
  readonly text: string;
  readonly names: TableNames;
  /** What is marked as wrong. */
  readonly error: ErrorRange | null;
  /** A longer text is a plain one: it cannot run, and a page of that many coloured words would stand still. */
  readonly maxPainted: number;
  /** Id of the element that describes the error. */
  readonly errorId: string | null;
  readonly area: RefObject<HTMLTextAreaElement | null>;
  readonly onChange: (text: string) => void;
  readonly onRun: () => void;
}

export function Editor({ text, names, error, maxPainted, errorId, area, onChange, onRun }: Props) {
  const [completions, setCompletions] = useState<Completions | null>(null);
  const [active, setActive] = useState(0);
  const [position, setPosition] = useState({ left: 0, top: 0 });
  const painted = useRef<HTMLPreElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const listId = useId();
  const helpId = useId();
  const isPainted = text.length <= maxPainted;
  const items = completions?.items ?? [];
  const chosen = items[Math.min(active, items.length - 1)];

  const complete = (value: string, caret: number, isWanted = false) => {
    setCompletions(value.length > maxPainted ? null : completionsAt(value, caret, names, isWanted));
    setActive(0);
  };
  useLayoutEffect(() => {
    if (completions === null || painted.current === null || frame.current === null) return;
    const box = characterBox(painted.current, text, completions.from);
    const around = frame.current.getBoundingClientRect();
    if (box !== null) setPosition({ left: Math.max(0, Math.min(box.left - around.left, around.width - LIST_WIDTH_PX)), top: box.bottom - around.top + 2 });
  }, [completions, text]);
  // The caret may have left the list by any way: by a click, by an arrow key.
  useEffect(() => {
    if (completions === null) return;
    const onSelection = () => {
      const caret = area.current?.selectionStart ?? -1;
      if (caret < completions.from || caret > completions.to) setCompletions(null);
    };
    document.addEventListener("selectionchange", onSelection);
    return () => document.removeEventListener("selectionchange", onSelection);
  }, [completions, area]);

  const accept = ({ text: inserted, kind }: Completion) => {
    if (area.current === null || completions === null) return;
    const { from, to } = completions;
    setCompletions(null);
    replaceText(area.current, from, to, inserted);
    // The tables of a schema follow at once.
    const value = area.current.value;
    if (kind === "schema") complete(value, from + inserted.length);
    else setCompletions(null);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const { key } = event;
    if (key === "Enter" && (event.ctrlKey || event.metaKey)) {
      setCompletions(null);
      onRun();
    } else if (key === " " && event.ctrlKey) {
      complete(event.currentTarget.value, event.currentTarget.selectionStart, true);
    } else if (completions === null || chosen === undefined) return;
    else if (key === "Escape") setCompletions(null);
    else if (key === "ArrowDown" || key === "ArrowUp") setActive((items.indexOf(chosen) + (key === "ArrowDown" ? 1 : -1) + items.length) % items.length);
    else if (key === "Enter" && !event.shiftKey) accept(chosen);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div className="sql-editor" ref={frame}>
      <div className={isPainted ? "sql-scroll" : "sql-plain"}>
        {isPainted && <Painted text={text} error={error} element={painted} />}
        <textarea
          ref={area}
          className="sql-text"
          aria-label="Query in SQL"
          aria-describedby={errorId === null ? helpId : `${errorId} ${helpId}`}
          aria-invalid={errorId !== null}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={completions === null ? undefined : listId}
          aria-activedescendant={completions === null || chosen === undefined ? undefined : optionId(listId, items.indexOf(chosen))}
          placeholder={"select name, calls, total_us from kernels order by total_us desc limit 10"}
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          autoCorrect="off"
          value={text}
          onChange={({ target }) => {
            onChange(target.value);
            complete(target.value, target.selectionStart);
          }}
          onKeyDown={onKeyDown}
          onBlur={() => setCompletions(null)}
        />
      </div>
      {completions !== null && <CompletionList id={listId} items={items} active={items.indexOf(chosen as Completion)} style={position} onAccept={accept} />}
      <span className="off-screen" role="status">
        {completions === null ? "" : `${items.length} ${items.length === 1 ? "suggestion" : "suggestions"}`}
      </span>
      <p className="off-screen" id={helpId}>
        Ctrl+Enter runs the query, Ctrl+Space suggests, Escape closes the suggestions, Tab leaves the field.
      </p>
    </div>
  );
}

const LIST_WIDTH_PX = 420;

interface PaintedProps {
  readonly text: string;
  readonly error: ErrorRange | null;
  readonly element: RefObject<HTMLPreElement | null>;
}

/** A line per line, so that long ones wrap as in the field. */
const Painted = memo(function Painted({ text, error, element }: PaintedProps) {
  const lines = useMemo(() => linesOf(tokensOf(text)), [text]);
  return (
    <pre className="sql-painted" aria-hidden="true" ref={element}>
      {lines.map((line, index) => (
        <div key={index} className="sql-line">
          {line.flatMap((run) => split(run, error)).map(({ kind, text: part, start, isWrong }) => (
            <span key={start} className={isWrong ? `sql-${kind} sql-wrong` : `sql-${kind}`}>
              {part}
            </span>
          ))}
          {/* An empty line is as high as the others. */}
          {line.length === 0 && "\u200b"}
        </div>
      ))}
    </pre>
  );
});

interface Part extends PaintedRun {
  readonly isWrong: boolean;
}

/** A run in the parts inside and outside of the error. */
function split(run: PaintedRun, error: ErrorRange | null): Part[] {
  if (error === null || error.end <= run.start || error.start >= run.end) return [{ ...run, isWrong: false }];
  const boundaries = [run.start, Math.max(run.start, error.start), Math.min(run.end, error.end), run.end];
  return boundaries.slice(0, -1).flatMap((start, index): Part[] => {
    const end = boundaries[index + 1] ?? start;
    return end <= start ? [] : [{ ...run, text: run.text.slice(start - run.start, end - run.start), start, end, isWrong: index === 1 }];
  });
}
