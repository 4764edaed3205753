/** Searches a name in every view that lists names, and counts the matches. */
import { useEffect, useRef, useState } from "react";

import { useView } from "../api/hooks";
import type { ViewInfo } from "../api/types";
import { formatNumber } from "../lib/format";
import { formatFilter } from "../lib/grammar";
import { selectionQuery } from "../state/selection";
import { traceQuery, type Target } from "../state/target";
import { goToView, useParams } from "../state/urlStore";
import { isTyping } from "../ui/isTyping";

/** Views with a table of names: view → its table. */
const SEARCHED_TABLES: Readonly<Record<string, string>> = {
  operators: "operators",
  kernels: "kernels",
  modules: "modules",
  memory: "memory_stats",
};
const TYPING_MS = 200;

interface Props {
  readonly target: Target;
  readonly views: readonly ViewInfo[];
}

export function SearchBox({ target, views }: Props) {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => setQuery(text.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key !== "/" || isTyping(event.target)) return;
      event.preventDefault();
      box.current?.focus();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const searched = views.filter((view) => view.available && view.name in SEARCHED_TABLES);
  const go = (view: string) => {
    goToView(view, { [`${SEARCHED_TABLES[view] ?? view}.q`]: text.trim() });
    setOpen(false);
  };
  return (
    <span
      className="anchor"
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <input
        ref={box}
        type="search"
        className="field"
        style={{ width: 200 }}
        placeholder="Find a name  ( / )"
        aria-label="Find a name in every view"
        value={text}
        onFocus={() => setOpen(true)}
        onChange={({ target: input }) => {
          setText(input.value);
          setOpen(true);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
          if (event.key === "Enter" && text.trim() !== "" && searched[0] !== undefined) go(searched[0].name);
        }}
      />
      {open && query !== "" && (
        <div className="popover menu" style={{ right: 0, top: 32 }}>
          {searched.map((view) => (
            <Hit key={view.name} view={view} text={query} target={target} onGo={() => go(view.name)} />
          ))}
        </div>
      )}
    </span>
  );
}

interface HitProps {
  readonly view: ViewInfo;
  readonly text: string;
  readonly target: Target;
  readonly onGo: () => void;
}

function Hit({ view, text, target, onGo }: HitProps) {
  const params = useParams();
  const table = SEARCHED_TABLES[view.name] ?? view.name;
  const answer = useView(view.name, {
    ...traceQuery(target),
    ...selectionQuery(params),
    table,
    filter: formatFilter([{ key: null, operator: "~", value: text }]),
    limit: 1,
  });
  const count = answer.state === "ready" ? answer.data.tables[table]?.row_count : undefined;
  return (
    <button type="button" className="button" disabled={count === 0} onClick={onGo}>
      {view.title}: {count === undefined ? "…" : `${formatNumber(count)} ${count === 1 ? "row" : "rows"}`}
    </button>
  );
}
