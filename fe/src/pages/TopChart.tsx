/** The largest rows of a table as bars, by a measure that can be switched. */
import { useView } from "../api/hooks";
import type { Row, Table } from "../api/types";
import { Chart } from "../chart/Chart";
import { barsByKind } from "../chart/chartData";
import type { CategoryChart } from "../chart/types";
import { topRows } from "../lib/rows";
import { adjust, useParams } from "../state/urlStore";
import { isWhole, type TableSource } from "../table/useRows";
import { Segmented } from "../ui/Segmented";

export interface Measure {
  readonly key: string;
  readonly title: string;
}

interface Props {
  readonly title: string;
  readonly table: Table;
  /** Where the largest rows come from when the table is not completely loaded. */
  readonly source: TableSource;
  /** The first is the default. */
  readonly measures: readonly Measure[];
  readonly label: (row: Row) => string;
  /** Further text in the tooltip of a bar. */
  readonly hover?: (row: Row) => string;
  /** The kind of a row, which decides its colour. */
  readonly kind?: (row: Row) => string;
  readonly fileName: string;
  readonly onPick?: (row: Row) => void;
}

const COUNTS = [5, 10, 20, 50];
const DEFAULT_COUNT = 10;
const BAR_PX = 22;
const AXIS_PX = 48;

export function TopChart({ title, table, source, measures, label, hover, kind, fileName, onPick }: Props) {
  const params = useParams();
  const measure = measures.find(({ key }) => key === params["by"]) ?? measures[0];
  const count = Number(params["top"] ?? DEFAULT_COUNT) || DEFAULT_COUNT;
  const largest = useLargest(table, source, measure?.key ?? "", count);
  if (measure === undefined || largest === null || table.row_count === 0) return null;
  const top = topRows(largest, measure.key, count);
  const column = table.columns.find(({ key }) => key === measure.key);
  const chart: CategoryChart = {
    // Each bar has one kind; "stacked" aligns the bars of several kinds.
    kind: "stacked_bar",
    horizontal: true,
    categories: top.map(({ row }) => label(row)),
    ...(hover === undefined ? {} : { fullNames: top.map(({ row }) => hover(row)) }),
    lines: barsByKind(top, kind ?? (() => measure.title)),
    categoryTitle: "",
    value: { title: measure.title, unit: column?.unit ?? null },
  };
  return (
    <Chart
      title={`Top ${Math.min(count, top.length) || count} ${title}`}
      help={column?.help ?? ""}
      nullReason={table.null_reasons[measure.key]}
      chart={chart}
      fileName={fileName}
      height={AXIS_PX + BAR_PX * top.length}
      onPick={(index) => {
        const picked = top[index];
        if (picked !== undefined) onPick?.(picked.row);
      }}
      extra={
        <>
          <Segmented
            label="Measure"
            values={measures.map(({ key }) => key)}
            value={measure.key}
            onPick={(key) => adjust({ by: key === measures[0]?.key ? null : key })}
            title={(key) => measures.find((each) => each.key === key)?.title ?? key}
          />
          <CountPicker count={count} />
        </>
      }
    />
  );
}

/** A table with the largest rows of the whole table; null until they are loaded. */
function useLargest(table: Table, source: TableSource, key: string, count: number): Table | null {
  const isLoaded = isWhole(table);
  const answer = useView(isLoaded ? null : source.view, { ...source.query, table: source.table, sort: `-${key}`, limit: count });
  const answered = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  return isLoaded ? table : (answered?.tables[source.table] ?? null);
}

function CountPicker({ count }: { readonly count: number }) {
  return (
    <select
      className="field no-print"
      aria-label="How many"
      value={count}
      onChange={({ target }) => adjust({ top: Number(target.value) === DEFAULT_COUNT ? null : target.value })}
    >
      {[...new Set([...COUNTS, count])]
        .sort((a, b) => a - b)
        .map((each) => (
          <option key={each} value={each}>
            top {each}
          </option>
        ))}
    </select>
  );
}
