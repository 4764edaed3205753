/** Links for further reading; nothing is loaded from them. */
import type { Table } from "../../api/types";
import { textOf } from "../../lib/rows";

export function Guidance({ table }: { readonly table: Table }) {
  return (
    <section className="card" aria-label={table.title}>
      <header>
        <h2 title={table.help}>{table.title}</h2>
      </header>
      <ul className="body guidance">
        {table.rows.map((row) => {
          const url = textOf(table, row, "url");
          return (
            <li key={url}>
              <a href={url} target="_blank" rel="noreferrer" title={`${url} (opens in a new tab)`}>
                {textOf(table, row, "title")}
              </a>{" "}
              <span className="soft">{textOf(table, row, "text")}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
