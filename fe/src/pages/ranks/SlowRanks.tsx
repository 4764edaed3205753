/** Why ranks are slow: a cause with its evidence per row, the most expensive first. */
import type { Row, Table } from "../../api/types";
import { formatValue } from "../../lib/format";
import { numberOf, textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { whenText } from "./causes";

/** Causes shown here; all are in the table below. */
const SHOWN = 5;

export function SlowRanks({ table }: { readonly table: Table }) {
  return (
    <section className="card" aria-label={table.title} data-table="slow_ranks">
      <header>
        <h2 title={table.help}>{table.title}</h2>
        {table.row_count > 1 && <span className="soft">most expensive first</span>}
      </header>
      {table.row_count === 0 ? (
        <p className="body soft">{table.why_empty}</p>
      ) : (
        <ol className="findings">
          {table.rows.slice(0, SHOWN).map((row, index) => (
            <Cause key={index} table={table} row={row} number={index + 1} />
          ))}
        </ol>
      )}
    </section>
  );
}

function Cause({ table, row, number }: { readonly table: Table; readonly row: Row; readonly number: number }) {
  const text = (key: string) => visibleText(textOf(table, row, key));
  return (
    <li>
      <span className="finding-mark warning">{number}</span>
      <div>
        <h3>
          {text("title")}: {text("location")}
        </h3>
        <p className="finding-text">{text("evidence")}</p>
        <p className="soft">{visibleText(whenText(textOf(table, row, "pattern"), textOf(table, row, "steps")))}</p>
      </div>
      <p className="finding-gain" title="How much longer a step of the job takes, by replaying the steps of all ranks without it">
        <b>{formatValue(numberOf(table, row, "cost_us"), "us")}</b>
        <br />
        <small>{formatValue(numberOf(table, row, "cost_pct"), "pct")} of the step, est.</small>
      </p>
    </li>
  );
}
