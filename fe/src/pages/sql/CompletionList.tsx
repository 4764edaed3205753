/** The suggestions at the caret: what each is, and in one line what it means. */
import { useEffect, useRef } from "react";

import type { Completion } from "./completion";

interface Props {
  readonly id: string;
  readonly items: readonly Completion[];
  /** Index of the one that Enter takes. */
  readonly active: number;
  readonly style: { readonly left: number; readonly top: number };
  readonly onAccept: (item: Completion) => void;
}

export function optionId(listId: string, index: number): string {
  return `${listId}-${index}`;
}

export function CompletionList({ id, items, active, style, onAccept }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children[active]?.scrollIntoView({ block: "nearest" });
  }, [active]);
  const shown = items[active];
  return (
    <div className="popover sql-completions" style={style}>
      <div id={id} ref={list} role="listbox" aria-label="Suggestions" className="sql-options">
        {items.map((item, index) => (
          <div
            key={`${item.kind} ${item.label}`}
            id={optionId(id, index)}
            role="option"
            aria-selected={index === active}
            title={item.help}
            // The field keeps the focus.
            onPointerDown={(event) => event.preventDefault()}
            onClick={() => onAccept(item)}
          >
            <i className={`sql-kind sql-kind-${item.kind}`} aria-hidden="true">
              {KIND_MARKS[item.kind]}
            </i>
            <span className="mono">{item.label}</span>
            <small className="soft">{item.detail}</small>
          </div>
        ))}
      </div>
      {shown !== undefined && shown.help !== "" && <p className="sql-completion-help soft">{shown.help}</p>}
    </div>
  );
}

const KIND_MARKS: Readonly<Record<Completion["kind"], string>> = { table: "T", schema: "S", column: "C", function: "ƒ", keyword: "K" };
