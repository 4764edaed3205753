/** Fields for where forward begins and backward ends: as detected, or at named operators. */
import { useId, useState } from "react";

import type { Query } from "../../api/client";
import { useView } from "../../api/hooks";
import { formatFilter } from "../../lib/grammar";
import { textOf } from "../../lib/rows";
import { navigate, useParams } from "../../state/urlStore";

const MAX_OPTIONS = 30;
const BOUNDARIES = [
  { key: "forward_start", label: "Forward begins with" },
  { key: "backward_end", label: "Backward ends with" },
] as const;

/** The views whose names can be boundaries; also names of their first tables. */
export type NamesView = "operators" | "kernels";

interface Props {
  /** Names the trace whose operators are suggested. */
  readonly query: Query;
  /** Where the names come from: kernels where the host recorded no operators. */
  readonly view: NamesView;
}

export function PhaseBoundaries({ query, view }: Props) {
  const params = useParams();
  const isChosen = BOUNDARIES.some(({ key }) => key in params);
  return (
    <section className="card phase-borders no-print" aria-label="Phase boundaries">
      {BOUNDARIES.map(({ key, label }) => (
        <BoundaryField key={`${key} ${params[key] ?? ""}`} name={key} label={label} value={params[key] ?? ""} query={query} view={view} />
      ))}
      <button type="button" className="button" disabled={!isChosen} onClick={() => navigate({ forward_start: null, backward_end: null })}>
        Reset boundaries
      </button>
    </section>
  );
}

interface FieldProps {
  readonly name: (typeof BOUNDARIES)[number]["key"];
  readonly label: string;
  readonly value: string;
  readonly query: Query;
  readonly view: NamesView;
}

function BoundaryField({ name, label, value, query, view: source }: FieldProps) {
  const list = useId();
  const [typed, setTyped] = useState(value);
  const [hasFocused, setHasFocused] = useState(false);
  const filter = typed.trim() === "" ? undefined : formatFilter([{ key: "name", operator: "~", value: typed.trim() }]);
  const answer = useView(hasFocused ? source : null, { ...query, table: source, sort: "name", limit: MAX_OPTIONS, filter });
  const view = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  const table = view?.tables[source];
  const names = table === undefined ? [] : [...new Set(table.rows.map((row) => textOf(table, row, "name")))];
  const apply = (text: string) => {
    const chosen = text.trim() === "" ? null : text.trim();
    if (chosen !== (value === "" ? null : value)) navigate({ [name]: chosen });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        apply(typed);
      }}
    >
      <label>
        {label}
        <input
          className="field"
          list={list}
          value={typed}
          placeholder="as detected"
          spellCheck={false}
          onFocus={() => setHasFocused(true)}
          onBlur={() => apply(typed)}
          onChange={({ target }) => {
            setTyped(target.value);
            // A choice from the list needs no Enter.
            if (names.includes(target.value) && target.value.length > typed.length + 1) apply(target.value);
          }}
        />
      </label>
      <datalist id={list}>
        {names.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </form>
  );
}
