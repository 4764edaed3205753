/** Where forward begins and backward ends: as found, or at operators somebody names. */
import { useId, useState } from "react";

import type { Query } from "../../api/client";
import { useView } from "../../api/hooks";
import { formatFilter } from "../../lib/grammar";
import { textOf } from "../../lib/rows";
import { navigate, useParams } from "../../state/urlStore";

const OFFERED = 30;
const BORDERS = [
  { key: "forward_start", label: "Forward begins with" },
  { key: "backward_end", label: "Backward ends with" },
] as const;

/** @param query The trace: its operators are offered. */
export function Borders({ query }: { readonly query: Query }) {
  const params = useParams();
  const isChosen = BORDERS.some(({ key }) => key in params);
  return (
    <section className="card phase-borders no-print" aria-label="Borders of the passes">
      {BORDERS.map(({ key, label }) => (
        <BorderField key={`${key} ${params[key] ?? ""}`} name={key} label={label} value={params[key] ?? ""} query={query} />
      ))}
      <button type="button" className="button" disabled={!isChosen} onClick={() => navigate({ forward_start: null, backward_end: null })}>
        Reset borders
      </button>
    </section>
  );
}

interface FieldProps {
  readonly name: (typeof BORDERS)[number]["key"];
  readonly label: string;
  readonly value: string;
  readonly query: Query;
}

function BorderField({ name, label, value, query }: FieldProps) {
  const list = useId();
  const [typed, setTyped] = useState(value);
  const [asked, setAsked] = useState(false);
  const filter = typed.trim() === "" ? undefined : formatFilter([{ key: "name", operator: "~", value: typed.trim() }]);
  const answer = useView(asked ? "operators" : null, { ...query, table: "operators", sort: "name", limit: OFFERED, filter });
  const view = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  const table = view?.tables["operators"];
  const names = table === undefined ? [] : [...new Set(table.rows.map((row) => textOf(table, row, "name")))];
  const take = (text: string) => {
    const chosen = text.trim() === "" ? null : text.trim();
    if (chosen !== (value === "" ? null : value)) navigate({ [name]: chosen });
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        take(typed);
      }}
    >
      <label>
        {label}
        <input
          className="field"
          list={list}
          value={typed}
          placeholder="as found"
          spellCheck={false}
          onFocus={() => setAsked(true)}
          onBlur={() => take(typed)}
          onChange={({ target }) => {
            setTyped(target.value);
            // One that was picked from the list needs no Enter.
            if (names.includes(target.value) && target.value.length > typed.length + 1) take(target.value);
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
