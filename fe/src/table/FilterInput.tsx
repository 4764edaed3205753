/** The filter field of a column: text, numbers and ranges, or yes and no. Applies while typing. */
import { useEffect, useRef, useState } from "react";

import { formatColumnFilter, parseColumnFilter } from "../lib/columnFilter";
import { formatFilter, isExpression, type Clause } from "../lib/grammar";
import type { ColumnView } from "./columnView";

interface Props {
  readonly view: ColumnView;
  readonly clauses: readonly Clause[];
  readonly onChange: (clauses: Clause[]) => void;
  /** Why the server rejects the filters. */
  readonly rejection: string | null;
}

export function FilterInput({ view, clauses, onChange, rejection }: Props) {
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
  return <TextFilter view={view} clauses={clauses} onChange={onChange} rejection={rejection} label={label} />;
}

function TextFilter({ view, clauses, onChange, rejection, label }: Props & { readonly label: string }) {
  const { column, scale } = view;
  const [text, setText] = useState(() => formatColumnFilter(column, scale, clauses));
  const written = useRef(formatFilter(clauses));
  const outside = formatFilter(clauses);

  useEffect(() => {
    // The address changed from outside (back, a link, "clear"): show its filter.
    if (outside === written.current) return;
    written.current = outside;
    setText(formatColumnFilter(column, scale, clauses));
    // eslint-disable-next-line react-hooks/exhaustive-deps -- `outside` is the text of `clauses`
  }, [outside, column, scale]);

  const parsed = parseColumnFilter(column, scale, text);
  // Of valid filters only a regular expression can be rejected.
  const problem = "problem" in parsed ? `Enter ${parsed.problem}` : clauses.some(isExpression) ? rejection : null;
  const unit = scale.label === "" ? "" : ` in ${scale.label}`;
  const hint = view.numeric ? `>100, <=5, 10..20${unit}; - for no value` : "text that contains it; !text excludes, =text is exact, =~^a|b$ is a regular expression";
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
        // An invalid filter filters nothing: the previous one must not stay in force invisibly.
        const read = "problem" in next ? [] : next.clauses;
        written.current = formatFilter(read);
        onChange(read);
      }}
    />
  );
}
