/** The environment of both traces: what differs besides the code, and whether times can be compared. */
import type { Note, Table } from "../../api/types";
import "./compare.css";
import { environmentOf, type EnvironmentRow } from "./environment";

interface Props {
  readonly table: Table;
  readonly notes: readonly Note[];
}

export function EnvironmentCard({ table, notes }: Props) {
  const { differing, unknown, same } = environmentOf(table);
  const environmentNotes = notes.filter(isEnvironmentNote);
  return (
    <section className="card" aria-label={table.title}>
      <header title={table.help}>
        <h2>{table.title}</h2>
      </header>
      <div className="body compare-around">
        {environmentNotes.filter(({ severity }) => severity === "warning").map((note) => (
          <p key={note.code} className={`compare-said ${note.severity}`} data-note={note.code}>
            <span aria-hidden="true">⚠</span>
            <span>{note.text}</span>
          </p>
        ))}
        {differing.length === 0 ? <p className="soft">Same environment on both sides, as far as recorded.</p> : <Folded rows={differing} label={differing.length === 1 ? "differs" : "differ"} />}
        <Folded rows={unknown} label="unknown" />
        <Folded rows={same} label="equal" />
      </div>
    </section>
  );
}

/** Whether a note is about the environment; notes on the quality of a recording are shown below. */
export function isEnvironmentNote(note: Note): boolean {
  return note.code.startsWith("other_") && "baseline" in note.evidence;
}

function Folded({ rows, label }: { readonly rows: readonly EnvironmentRow[]; readonly label: string }) {
  if (rows.length === 0) return null;
  return (
    <details>
      <summary>{`${rows.length} ${label}: ${rows.map(({ aspect }) => aspect).join(", ")}`}</summary>
      <Rows rows={rows} label={`Aspects that are ${label}`} />
    </details>
  );
}

function Rows({ rows, label }: { readonly rows: readonly EnvironmentRow[]; readonly label: string }) {
  return (
    <div className="compare-rows" role="region" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Aspect</th>
            <th scope="col">Baseline</th>
            <th scope="col">Candidate</th>
            <th scope="col">Why it matters</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.aspect} className={row.isWarning ? "warning" : undefined}>
              <th scope="row">{row.aspect}</th>
              <td>{row.baseline || "–"}</td>
              <td>{row.candidate || "–"}</td>
              <td className="soft">{row.reason || row.importance}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
