/** The filter of one column: text, numbers and ranges, or yes and no. Applies while it is typed. */
import { useEffect, useRef, useState } from "react";

import { formatColumnFilter, parseColumnFilter } from "../lib/columnFilter";
import { formatFilter, isExpression, type Clause } from "../lib/grammar";
import type { ColumnView } from "./columnView";

interface Props {
  readonly view: ColumnView;
  readonly clauses: readonly Clause[];
  readonly onChange: (clauses: Clause[]) => void;
  /** Why the server refuses the filters. */
  readonly refused: string | null;
}

export function FilterInput({ view, clauses, onChange, refused }: Props) {
  const label = `Filter ${view.column.title}`;
  if (view.column.type === "boolean") {
    return (
      <select
        aria-label={label}
        className={clauses.length > 0 ? "set" : ""}
        value={clauses[0]?.value ?? ""}
        onChange={({ target }) =>
          onChange(target.value === "" ? [] : [{ key: view.column.key, operator: "=", value: target.value }])
        }
      >
        <option value="">all</option>
        <option value="yes">Yes</option>
        <option value="no">No</option>
        <option value="-">–</option>
      </select>
    );
  }
  return <TextFilter view={view} clauses={clauses} onChange={onChange} refused={refused} label={label} />;
}

function TextFilter({ view, clauses, onChange, refused, label }: Props & { readonly label: string }) {
  const { column, scale } = view;
  const [text, setText] = useState(() => formatColumnFilter(column, scale, clauses));
  const written = useRef(formatFilter(clauses));
  const outside = formatFilter(clauses);

  useEffect(() => {
    // The address changed by itself (back, a link, "clear"): show what it says.
    if (outside === written.current) return;
    written.current = outside;
    setText(formatColumnFilter(column, scale, clauses));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `outside` says all of `clauses`
  }, [outside, column, scale]);

  const parsed = parseColumnFilter(column, scale, text);
  // Of what is here only an expression can be refused.
  const problem = "problem" in parsed ? `Write ${parsed.problem}` : clauses.some(isExpression) ? refused : null;
  const unit = scale.label === "" ? "" : ` in ${scale.label}`;
  const hint = view.numeric ? `>100, <=5, 10..20${unit}; - for no value` : "contains; !text leaves out, =text is exact, =~^a|b$ is a regular expression";
  return (
    <input
      aria-label={label}
      aria-invalid={problem !== null}
      title={problem ?? hint}
      className={`${view.numeric ? "number" : ""}${text === "" ? "" : " set"}`}
      placeholder={view.numeric ? ">0" : "contains"}
      value={text}
      spellCheck={false}
      onChange={({ target }) => {
        setText(target.value);
        const next = parseColumnFilter(column, scale, target.value);
        // What cannot be read filters nothing: the one before must not go on unseen.
        const read = "problem" in next ? [] : next.clauses;
        written.current = formatFilter(read);
        onChange(read);
      }}
    />
  );
}
