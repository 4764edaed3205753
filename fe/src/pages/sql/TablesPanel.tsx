/** The tables and columns that a query can use, with what they mean. A click writes the name at the caret. */
import { useState } from "react";

import type { SqlTablePayload } from "../../generated/schema";
import { formatNumber } from "../../lib/format";
import { columnDetail } from "./completion";
import { searchTables, writtenName, type ListedTable } from "./tableSearch";
import { quotedName } from "./tokens";

interface Props {
  readonly tables: readonly SqlTablePayload[];
  readonly onInsert: (text: string) => void;
  /** Runs a query that shows the first rows of a table. */
  readonly onShow: (query: string) => void;
}

/** So few matches are open at once. */
const OPEN_MATCHES = 4;
const FIRST_ROWS = 100;

export function TablesPanel({ tables, onInsert, onShow }: Props) {
  const [search, setSearch] = useState("");
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const listed = searchTables(tables, search);
  const isSearching = search.trim() !== "";
  const toggle = (name: string) => {
    const next = new Set(toggled);
    if (!next.delete(name)) next.add(name);
    setToggled(next);
  };
  return (
    <section className="card sql-tables" aria-label="Tables">
      <header>
        <h2>Tables</h2>
        <span className="soft" role="status">
          {isSearching ? `${formatNumber(listed.length)} of ${formatNumber(tables.length)}` : formatNumber(tables.length)}
        </span>
        <input
          type="search"
          className="field"
          placeholder="Search tables and columns"
          aria-label="Search tables and columns"
          value={search}
          onChange={({ target }) => {
            setSearch(target.value);
            setToggled(new Set());
          }}
        />
      </header>
      <div className="sql-table-list" tabIndex={0} role="region" aria-label="List of tables">
        {listed.map((each) => {
          const { name } = each.table;
          const isOpen = (isSearching && listed.length <= OPEN_MATCHES) !== toggled.has(name);
          return <TableEntry key={name} listed={each} isOpen={isOpen} onToggle={() => toggle(name)} onInsert={onInsert} onShow={onShow} />;
        })}
        {listed.length === 0 && <p className="soft">No table or column has this in its name or description.</p>}
      </div>
    </section>
  );
}

interface EntryProps extends Omit<Props, "tables"> {
  readonly listed: ListedTable;
  readonly isOpen: boolean;
  readonly onToggle: () => void;
}

function TableEntry({ listed: { table, columns, byColumn }, isOpen, onToggle, onInsert, onShow }: EntryProps) {
  const written = writtenName(table).split(".").map(quotedName).join(".");
  return (
    <div className="sql-table">
      <button type="button" className="sql-table-name" aria-expanded={isOpen} title={table.help} onClick={onToggle}>
        <span className="mono">{table.name}</span>
        <small className="soft">{byColumn ? `${columns.length} of ${table.columns.length}` : table.columns.length}</small>
      </button>
      {isOpen && (
        <div className="sql-table-body">
          <p className="soft">{table.help === "" ? table.title : table.help}</p>
          <p className="choices">
            <button type="button" className="button" onClick={() => onInsert(written)}>
              Insert name
            </button>
            <button type="button" className="button" onClick={() => onShow(`select *\nfrom ${written}\nlimit ${FIRST_ROWS}`)}>
              First {FIRST_ROWS} rows
            </button>
          </p>
          <ul>
            {columns.map((column) => (
              <li key={column.key}>
                <button type="button" className="sql-column" title={`Insert ${column.key}`} onClick={() => onInsert(quotedName(column.key))}>
                  <span className="mono">{column.key}</span>
                  <small className="soft">{columnDetail(column)}</small>
                </button>
                <p className="soft">{column.help}</p>
              </li>
            ))}
          </ul>
        </div>
      )}
    </div>
  );
}
