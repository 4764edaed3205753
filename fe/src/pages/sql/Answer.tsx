/** The answer of a query: how many rows in what time, its notes, and the rows as a table or a chart. */
import { useMemo } from "react";

import type { Timed } from "../../api/hooks";
import type { Note, Table, View } from "../../api/types";
import { Chart } from "../../chart/Chart";
import { isCurve } from "../../chart/types";
import { formatNumber, formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { adjust, navigate, useParams } from "../../state/urlStore";
import { DataTable } from "../../table/DataTable";
import { Segmented } from "../../ui/Segmented";
import { QualityNotes, SELECTION_IGNORED } from "../QualityNotes";
import { answerChart, CHART_KINDS, chartChoice, defaultChart, isNumber, KIND_TITLES, NO_SPLIT, type ChartChoice, type ChartKind } from "./answerChart";
import { answerTable } from "./answerTable";
import { CHART_KEYS, FORM_KEY, formOf, MAX_ROWS_KEY, TABLE_ADDRESS, type Form } from "./sqlAddress";

interface Props {
  readonly answer: Timed<View>;
  readonly fileName: string;
  /** Rows that the server gives at most. */
  readonly maxRows: number;
}

/** Of a note that the answer has more rows. */
const MORE_ROWS = "rows_cut";
const FORM_TITLES: Readonly<Record<Form, string>> = { table: "Table", chart: "Chart" };
/** Of a horizontal bar, and of a chart around its bars. */
const BAR_PX = 22;
const CHART_PX = 80;
const CURVE_PX = 320;

export function Answer({ answer: { data: view, elapsedMs }, fileName, maxRows }: Props) {
  const params = useParams();
  const table = useMemo(() => answerTable(view), [view]);
  if (table === null) return null;
  const form = formOf(params);
  const isShortened = view.notes.some(({ code }) => code === MORE_ROWS);
  const notes = view.notes.filter((note) => !isAboutSelection(note)).map((note) => (note.code === MORE_ROWS ? { ...note, text: shortenedText(table) } : note));
  return (
    <>
      <div className="sql-status">
        <p className="answer" role="status">
          {formatNumber(table.row_count)} {table.row_count === 1 ? "row" : "rows"}
          {isShortened && ", and there are more"}, in {formatValue(elapsedMs * 1000, "us")}.
        </p>
        {isShortened && table.row_count < maxRows && (
          <button type="button" className="button" onClick={() => navigate({ [MAX_ROWS_KEY]: String(maxRows) })}>
            Show up to {formatNumber(maxRows)} rows
          </button>
        )}
        <span style={{ flex: 1 }} />
        <Segmented label="Show the answer as" values={["table", "chart"]} value={form} onPick={(value) => navigate({ [FORM_KEY]: value === "table" ? null : value })} title={(value) => FORM_TITLES[value as Form]} />
      </div>
      {view.notes.filter(isAboutSelection).map(({ text }) => (
        <p key={text} role="note" className="soft">
          {visibleText(text)}
        </p>
      ))}
      {form === "chart" && <AnswerAsChart table={table} fileName={fileName} />}
      <AnswerRows table={table} fileName={fileName} notes={notes} />
      <QualityNotes notes={notes} always={false} />
    </>
  );
}

/** Which tables the selection applies to. */
function isAboutSelection({ code }: Note): boolean {
  return code === "sql_selection" || code === SELECTION_IGNORED;
}

function shortenedText({ row_count: count }: Table): string {
  return `The answer has more than ${formatNumber(count)} rows; these are the first. Sort and restrict them in the query: sorting and filtering here, the chart and exports see these rows only.`;
}

function AnswerRows({ table, fileName, notes }: { readonly table: Table; readonly fileName: string; readonly notes: readonly Note[] }) {
  // Another answer has other columns, and other choices of them.
  const columns = table.columns.map(({ key }) => key).join(" ");
  return <DataTable key={columns} name={`sql.${columns}`} table={table} source={null} address={TABLE_ADDRESS} fileName={fileName} notes={notes} showsAll />;
}

function AnswerAsChart({ table, fileName }: { readonly table: Table; readonly fileName: string }) {
  const params = useParams();
  const choice = useMemo(() => chartChoice(table, params), [table, params]);
  const drawn = useMemo(() => (choice === null ? null : answerChart(table, choice)), [table, choice]);
  if (choice === null || drawn === null) return <p className="soft">The answer has no column of numbers to draw.</p>;
  const { chart, remarks } = drawn;
  const title = `${titleOf(table, choice.y)} by ${titleOf(table, choice.x)}`;
  const height = isCurve(chart) || !chart.horizontal ? CURVE_PX : CHART_PX + BAR_PX * Math.max(2, chart.categories.length);
  return (
    <>
      <Chart title={title} chart={chart} fileName={`${fileName}_chart`} height={height} extra={<ChartForm table={table} choice={choice} />} />
      {remarks.length > 0 && <p className="soft">{remarks.join(" ")}</p>}
    </>
  );
}

function ChartForm({ table, choice }: { readonly table: Table; readonly choice: ChartChoice }) {
  const base = defaultChart(table);
  const xIsNumber = table.columns.some((column) => column.key === choice.x && isNumber(column));
  const pick = (part: keyof ChartChoice, value: string) => adjust({ [CHART_KEYS[part]]: value === (base?.[part] ?? NO_SPLIT) ? null : value });
  const all = table.columns.map(({ key }) => key);
  const numbers = table.columns.filter(isNumber).map(({ key }) => key);
  return (
    <span className="sql-chart-form no-print">
      <Choice label="X" value={choice.x} values={all} title={(key) => titleOf(table, key)} onPick={(key) => pick("x", key)} />
      <Choice label="Y" value={choice.y} values={numbers} title={(key) => titleOf(table, key)} onPick={(key) => pick("y", key)} />
      <Choice label="Color" value={choice.by ?? NO_SPLIT} values={[NO_SPLIT, ...all]} title={(key) => (key === NO_SPLIT ? "none" : titleOf(table, key))} onPick={(key) => pick("by", key)} />
      <Choice label="Kind" value={choice.kind} values={CHART_KINDS.filter((kind) => xIsNumber || kind === "bar" || kind === "stacked_bar")} title={(kind) => KIND_TITLES[kind as ChartKind]} onPick={(kind) => pick("kind", kind)} />
    </span>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly values: readonly string[];
  readonly title: (value: string) => string;
  readonly onPick: (value: string) => void;
}

function Choice({ label, value, values, title, onPick }: ChoiceProps) {
  return (
    <label>
      {label}{" "}
      <select className="field" value={value} onChange={({ target }) => onPick(target.value)}>
        {values.map((each) => (
          <option key={each} value={each}>
            {title(each)}
          </option>
        ))}
      </select>
    </label>
  );
}

function titleOf(table: Table, key: string): string {
  return table.columns.find((column) => column.key === key)?.title ?? key;
}
