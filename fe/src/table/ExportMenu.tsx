/** Saves or copies the shown rows with exact values, under the name of the recording. */
import { useState } from "react";

import type { Row, Table } from "../api/types";
import { toCsv, toJson, toText } from "../lib/csv";
import { copyText, saveFile } from "../lib/download";
import { DEMANGLED_KEY, NAME_KEY, namesReader, SHORT_KEY } from "../lib/names";
import { useProfileNames } from "../state/profile";

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
  const names = useProfileNames();
  const save = async (format: "csv" | "json" | "text") => {
    try {
      const indexes = exportedIndexes(table, hidden);
      const columns = table.columns.filter((_, index) => indexes.includes(index));
      const rows = (await exportRows()).map((row) => indexes.map((index) => row[index] ?? null));
      if (format === "csv") saveFile(`${fileName}.csv`, "text/csv;charset=utf-8", toCsv(columns, rows));
      else if (format === "json") saveFile(`${fileName}.json`, "application/json", toJson(columns, rows));
      else if (!(await copyText(toText([...names, table.title].join(" · "), columns, rows)))) throw new Error("The browser does not let pages copy.");
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
      <button type="button" className="button" onClick={() => void save("text")}>
        Copy shown rows
      </button>
      <small className="soft">Exact values in the units of the column keys; kernels with all their names. The name of the file, or the first line copied, names the recording.</small>
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
