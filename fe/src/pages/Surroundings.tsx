/** The first thing of a comparison: what differs beside the code, and whether times can be compared at all. */
import type { Note, Table } from "../api/types";
import "./compare.css";
import { surroundingsOf, type Surrounding } from "./differences";

interface Props {
  readonly table: Table;
  readonly notes: readonly Note[];
}

export function Surroundings({ table, notes }: Props) {
  const { differing, unknown, same } = surroundingsOf(table);
  const said = notes.filter(isOfSurroundings);
  // Said once, however many things forbid it.
  const verdict = said.find(({ severity }) => severity === "warning");
  return (
    <section className="card" aria-label={table.title}>
      <header title={table.help}>
        <h2>{table.title}</h2>
        <span className="soft">{[`${differing.length} differ`, `${unknown.length} not known`, `${same.length} equal`].join(" · ")}</span>
      </header>
      <div className="body compare-around">
        {said.map((note) => (
          <p key={note.code} className={`compare-said ${note.severity}`} data-note={note.code}>
            <span aria-hidden="true">{note.severity === "warning" ? "⚠" : "·"}</span>
            <span>
              {note === verdict && <b>Times cannot be compared. </b>}
              {note.text}
            </span>
          </p>
        ))}
        {differing.length === 0 ? <p className="soft">Nothing that is known differs beside the code.</p> : <Rows rows={differing} label="What differs" />}
        <Folded rows={unknown} label="not known" />
        <Folded rows={same} label="equal" />
      </div>
    </section>
  );
}

/** Notes on the surroundings; those on the quality of a recording stand below. */
export function isOfSurroundings(note: Note): boolean {
  return note.code.startsWith("other_") && "baseline" in note.evidence;
}

function Folded({ rows, label }: { readonly rows: readonly Surrounding[]; readonly label: string }) {
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>{`${rows.length} ${label}: ${rows.map(({ what }) => what).join(", ")}`}</summary>
      <Rows rows={rows} label={`What is ${label}`} />
    </details>
  );
}

function Rows({ rows, label }: { readonly rows: readonly Surrounding[]; readonly label: string }) {
  return (
    <div className="compare-rows" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">Baseline</th>
            <th scope="col">Candidate</th>
            <th scope="col">Why it matters</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.what} className={row.isWarning ? "warning" : undefined}>
              <th scope="row">{row.what}</th>
              <td>{row.baseline || "–"}</td>
              <td>{row.candidate || "–"}</td>
              <td className="soft">{row.reason || row.why}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
