/** Saves the shown rows with exact values. */
import { useState } from "react";

import type { Row, Table } from "../api/types";
import { toCsv, toJson } from "../lib/csv";
import { saveFile } from "../lib/download";
import { DEMANGLED_KEY, NAME_KEY, namesReader, SHORT_KEY } from "../lib/names";

interface Props {
  readonly table: Table;
  readonly fileName: string;
  readonly hidden: ReadonlySet<string>;
  /** Every row that passes the filters. */
  readonly exportRows: () => Promise<readonly Row[]>;
  readonly onDone: () => void;
}

export function ExportMenu({ table, fileName, hidden, exportRows, onDone }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const save = async (format: "csv" | "json") => {
    try {
      const indexes = exportedIndexes(table, hidden);
      const columns = table.columns.filter((_, index) => indexes.includes(index));
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
      <small className="soft">Exact values in the units of the column keys; kernels with all their names.</small>
      {problem !== null && <p role="alert">{problem}</p>}
    </div>
  );
}

/** Indexes of the visible columns; the other names of kernels are exported with the recorded one. */
export function exportedIndexes(table: Table, hidden: ReadonlySet<string>): number[] {
  const hasNames = namesReader(table) !== null;
  const decides = (key: string) => (hasNames && (key === SHORT_KEY || key === DEMANGLED_KEY) ? NAME_KEY : key);
  return table.columns.flatMap(({ key }, index) => (hidden.has(decides(key)) ? [] : [index]));
}
