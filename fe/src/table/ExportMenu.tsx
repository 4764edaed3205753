/** Saves or copies the shown rows with exact values, under the name of the recording. */
import { useState } from "react";

import type { Row, Table } from "../api/types";
import { toCsv, toJson, toText } from "../lib/csv";
import { copyText, saveFile } from "../lib/download";
import { escapeMarkdown, markdownTable } from "../lib/markdown";
import { formatNumber } from "../lib/format";
import { DEMANGLED_KEY, NAME_KEY, namesReader, SHORT_KEY } from "../lib/names";
import { useProfileNames } from "../state/profile";
import { pageLink } from "../state/urlStore";
import { cellText, type ColumnView } from "./columnView";

interface Props {
  readonly table: Table;
  readonly fileName: string;
  readonly hidden: ReadonlySet<string>;
  /** The shown columns, in their order. */
  readonly visible: readonly ColumnView[];
  /** What the address calls the table; null for a table inside a row, which has no link. */
  readonly address: string | null;
  /** Every row that passes the filters. */
  readonly exportRows: () => Promise<readonly Row[]>;
  readonly onDone: () => void;
}

export function ExportMenu({ table, fileName, hidden, visible, address, exportRows, onDone }: Props) {
  const [problem, setProblem] = useState<string | null>(null);
  const names = useProfileNames();
  const heading = [...names, table.title];
  const indexes = exportedIndexes(table, hidden);
  const columns = table.columns.filter((_, index) => indexes.includes(index));
  const exactRows = async () => (await exportRows()).map((row) => indexes.map((index) => row[index] ?? null));
  const run = (action: () => Promise<void>) => () => {
    action().then(onDone, (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
  };
  return (
    <div className="menu">
      <button type="button" className="button" onClick={run(async () => saveFile(`${fileName}.csv`, "text/csv;charset=utf-8", toCsv(columns, await exactRows())))}>
        Shown rows as CSV
      </button>
      <button type="button" className="button" onClick={run(async () => saveFile(`${fileName}.json`, "application/json", toJson(columns, await exactRows())))}>
        Shown rows as JSON
      </button>
      <button type="button" className="button" onClick={run(async () => copy(toText(heading.join(" · "), columns, await exactRows())))}>
        Copy shown rows
      </button>
      <button type="button" className="button" onClick={run(async () => copy(toMarkdown(heading, visible, await exportRows())))}>
        Copy as Markdown
      </button>
      {address !== null && (
        <button type="button" className="button" onClick={run(() => copy(pageLink({ table: address })))}>
          Copy link to this table
        </button>
      )}
      <small className="soft">Exact values in the units of the column keys, kernels with all their names; Markdown as shown. The name of the file, or the first line copied, names the recording.</small>
      {problem !== null && <p role="alert">{problem}</p>}
    </div>
  );
}

async function copy(text: string): Promise<void> {
  if (!(await copyText(text))) throw new Error("The browser does not let pages copy.");
}

/** Rows in a text for a comment; more than that nobody reads there. */
const MARKDOWN_ROWS = 100;

/** The first rows as they are shown, under the names of the recording and the table. */
export function toMarkdown(heading: readonly string[], visible: readonly ColumnView[], rows: readonly Row[]): string {
  const columns = visible.map(({ column, scale, numeric }) => ({ title: scale.label === "" ? column.title : `${column.title} (${scale.label})`, isNumber: numeric }));
  const shown = rows.slice(0, MARKDOWN_ROWS).map((row) => visible.map((view) => cellText(view, view.shown(row))));
  const more = rows.length > shown.length ? `\n\nThe first ${shown.length} of ${formatNumber(rows.length)} rows.` : "";
  return `**${escapeMarkdown(heading.join(" · "))}**\n\n${markdownTable(columns, shown)}${more}\n`;
}

/** Indexes of the visible columns; the other names of kernels are exported with the recorded one. */
export function exportedIndexes(table: Table, hidden: ReadonlySet<string>): number[] {
  const hasNames = namesReader(table) !== null;
  const decides = (key: string) => (hasNames && (key === SHORT_KEY || key === DEMANGLED_KEY) ? NAME_KEY : key);
  return table.columns.flatMap(({ key }, index) => (hidden.has(decides(key)) ? [] : [index]));
}
