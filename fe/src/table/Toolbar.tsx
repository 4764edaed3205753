/** What stands above a table: its title, search, how much is shown, columns, export. */
import { useState } from "react";

import { Popover } from "../app/Popover";
import { toCsv, toJson } from "../lib/csv";
import { saveFile } from "../lib/download";
import { formatNumber } from "../lib/format";
import { unknownColumns } from "../lib/rowQuery";
import type { Row, Table } from "../api/types";
import type { ShownRows } from "./useRows";
import type { TableStateControl } from "./useTableState";

interface Props {
  readonly table: Table;
  readonly control: TableStateControl;
  readonly shown: ShownRows;
  readonly fileName: string;
  /** False where all rows are seen at once. */
  readonly searchable: boolean;
  readonly filtersOpen: boolean;
  readonly onToggleFilters: () => void;
  readonly hidden: ReadonlySet<string>;
  readonly onHide: (key: string, hide: boolean) => void;
  /** Every row that passes the filters. */
  readonly exportRows: () => Promise<readonly Row[]>;
}

export function Toolbar(props: Props) {
  const { table, control, shown } = props;
  const { state } = control;
  const hiddenCount = table.columns.filter((column) => props.hidden.has(column.key)).length;
  const filtered = state.filter.length > 0 || state.search !== "";
  const unknown = unknownColumns(table.columns, [...state.filter, ...state.sort]);
  return (
    <div className="table-tools no-print">
      <span className="count" role="status">
        {filtered
          ? `showing ${formatNumber(shown.matching)} of ${formatNumber(shown.total)}`
          : `${formatNumber(shown.total)} ${shown.total === 1 ? "row" : "rows"}`}
      </span>
      {unknown.length > 0 && (
        <span className="problem" role="alert">
          {unknown.length === 1 ? "No column" : "No columns"} {unknown.map((key) => `“${key}”`).join(", ")} here: what names it is left out.
        </span>
      )}
      {shown.problem !== null && shown.rows.length > 0 && (
        <span className="problem" role="alert">
          Only the first {formatNumber(shown.rows.length)} are here: {shown.problem}
        </span>
      )}
      {filtered && (
        <button
          type="button"
          className="button quiet"
          onClick={() => {
            control.setFilter([]);
            control.setSearch("");
          }}
        >
          Clear filters
        </button>
      )}
      {(props.searchable || filtered) && (
        <>
          <input
            type="search"
            className="field search"
            placeholder="Search this table"
            aria-label={`Search ${table.title}`}
            value={state.search}
            onChange={({ target }) => control.setSearch(target.value)}
          />
          <button type="button" className="button" aria-pressed={props.filtersOpen} onClick={props.onToggleFilters}>
            Filters
          </button>
        </>
      )}
      <Popover
        label={hiddenCount > 0 ? `Columns (${hiddenCount} hidden)` : "Columns"}
        title="Show and hide columns, and what each one means"
      >
        {() => <ColumnMenu table={table} hidden={props.hidden} onHide={props.onHide} />}
      </Popover>
      <Popover label="Export" title="Save what is shown">
        {(close) => <ExportMenu {...props} onDone={close} />}
      </Popover>
    </div>
  );
}

interface ColumnMenuProps {
  readonly table: Table;
  readonly hidden: ReadonlySet<string>;
  readonly onHide: (key: string, hide: boolean) => void;
}

function ColumnMenu({ table, hidden, onHide }: ColumnMenuProps) {
  return (
    <div className="menu">
      {table.columns.map((column, index) => (
        <label key={column.key}>
          <input
            type="checkbox"
            checked={!hidden.has(column.key)}
            onChange={({ target }) => onHide(column.key, !target.checked)}
          />
          <span>
            {column.title}
            {column.estimated && <i className="soft"> est.</i>}
          </span>
          <small>{column.help}</small>
          {table.rows.length > 0 && table.rows.every((row) => row[index] === null) && (
            <small>
              <b>No values here.</b> {table.null_reasons[column.key] ?? "It does not apply to these rows."}
            </small>
          )}
        </label>
      ))}
    </div>
  );
}

function ExportMenu({ table, fileName, hidden, exportRows, onDone }: Props & { readonly onDone: () => void }) {
  const [problem, setProblem] = useState<string | null>(null);
  const save = async (format: "csv" | "json") => {
    try {
      const indexes = table.columns.flatMap((column, index) => (hidden.has(column.key) ? [] : [index]));
      const columns = table.columns.filter((column) => !hidden.has(column.key));
      const rows = (await exportRows()).map((row) => indexes.map((index) => row[index] ?? null));
      if (format === "csv") saveFile(`${fileName}.csv`, "text/csv;charset=utf-8", toCsv(columns, rows));
      else saveFile(`${fileName}.json`, "application/json", toJson(columns, rows));
      onDone();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <div className="menu">
      <button type="button" className="button" onClick={() => void save("csv")}>
        Shown rows as CSV
      </button>
      <button type="button" className="button" onClick={() => void save("json")}>
        Shown rows as JSON
      </button>
      <small className="soft">Exact values, in the units the keys name.</small>
      {problem !== null && <p role="alert">{problem}</p>}
    </div>
  );
}
