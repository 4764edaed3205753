/** The search of the top bar: Enter leads to the best hit; the list says where each one is, and ends with the timeline. */
import { useEffect, useId, useRef, useState } from "react";

import type { ViewInfo } from "../../api/types";
import { shortenMiddle } from "../../lib/shorten";
import { visibleText } from "../../lib/visibleText";
import { requestReveal } from "../../pages/reveal";
import { NO_TIME } from "../../state/selection";
import type { Target } from "../../state/target";
import { goToView, navigate } from "../../state/urlStore";
import { isTyping } from "../../ui/isTyping";
import type { Hit } from "./hits";
import "./search.css";
import { useSearch } from "./useSearch";

const TYPING_MS = 200;
const MAX_CHARACTERS = 60;

interface Props {
  readonly target: Target;
  readonly views: readonly ViewInfo[];
}

export function SearchBox({ target, views }: Props) {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  // Enter before all answers have arrived: the best hit is not known yet.
  const [isWanted, setWanted] = useState(false);
  const box = useRef<HTMLInputElement>(null);
  const listId = useId();
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

  const { hits, isPending } = useSearch(open ? query : "", target, views);
  const isShown = open && query !== "";
  const chosen = hits[Math.min(active, hits.length - 1)];
  const go = (hit: Hit) => {
    if ("steps" in hit.goal) navigate({ ...NO_TIME, steps: hit.goal.steps });
    else {
      goToView(hit.goal.view, hit.goal.params);
      requestReveal();
    }
    setOpen(false);
    setWanted(false);
    box.current?.blur();
  };
  const isReady = isWanted && !isPending && query === text.trim();
  useEffect(() => {
    const [first] = hits;
    if (!isReady || first === undefined) return;
    const timer = setTimeout(() => go(first));
    return () => clearTimeout(timer);
    // eslint-disable-next-line react-hooks/exhaustive-deps -- once, when the answers are there
  }, [isReady]);

  return (
    <span
      className="anchor search-box"
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <input
        ref={box}
        type="search"
        role="combobox"
        className="field"
        placeholder="Find a name  ( / )"
        aria-label="Find a name in every view"
        aria-expanded={isShown}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={isShown && chosen !== undefined ? optionId(listId, chosen) : undefined}
        autoComplete="off"
        value={text}
        onFocus={() => setOpen(true)}
        onChange={({ target: input }) => {
          setText(input.value);
          setOpen(true);
          setActive(0);
          setWanted(false);
        }}
        onKeyDown={(event) => {
          if (event.key === "Escape") setOpen(false);
          else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            setActive(Math.max(0, Math.min(hits.length - 1, active + (event.key === "ArrowDown" ? 1 : -1))));
            setOpen(true);
          } else if (event.key === "Enter" && text.trim() !== "") {
            setQuery(text.trim());
            if (active > 0 && chosen !== undefined) go(chosen);
            else setWanted(true);
          } else return;
          event.preventDefault();
        }}
      />
      {isShown && (
        <div className="popover search-hits">
          <div id={listId} role="listbox" aria-label="Hits">
            {hits.map((hit) => (
              <div
                key={hit.key}
                id={optionId(listId, hit)}
                role="option"
                aria-selected={hit === chosen}
                title={visibleText(hit.title)}
                // The field keeps the focus, so that a click arrives.
                onPointerDown={(event) => event.preventDefault()}
                onClick={() => go(hit)}
              >
                <span>{shortenMiddle(visibleText(hit.title), MAX_CHARACTERS)}</span>
                <small className="soft">{visibleText(hit.where)}</small>
              </div>
            ))}
          </div>
          {isPending && (
            <p className="soft" role="status">
              Searching …
            </p>
          )}
          {!isPending && hits.length === 0 && (
            <p className="soft" role="status">
              Nothing in this recording has that name.
            </p>
          )}
        </div>
      )}
    </span>
  );
}

function optionId(listId: string, { key }: Hit): string {
  return `${listId}-${key.replace(/\W+/g, "-")}`;
}
