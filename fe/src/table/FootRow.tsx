/** The row below the table: how many rows pass the filters, and the sums of additive columns. */
import type { ColumnSum } from "../api/types";
import { exactValue, formatNumber } from "../lib/format";
import type { ColumnLayout } from "./columnLayout";
import { cellText, type ColumnView } from "./columnView";
import { shareOf, shareText } from "./sums";
import { BOLD, CELL_PADDING_PX, textPx } from "./textWidth";
import type { ShownRows } from "./useRows";

interface Props {
  readonly layout: ColumnLayout;
  readonly shown: ShownRows;
  readonly label: string | null;
  /** The measure of the default sort order. */
  readonly mainKey: string | null;
  readonly rowIndex: number;
}

export function FootRow({ layout, shown, label, mainKey, rowIndex }: Props) {
  return (
    <div className="grid-foot" role="rowgroup">
      <div className="grid-row" role="row" aria-rowindex={rowIndex}>
        {layout.visible.map((view) => {
          const { key } = view.column;
          const sum = shown.sums[key];
          const text = key === label ? countText(shown, layout.visible, mainKey) : sum === undefined ? "" : sumText(view, withoutNoise(sum.shown), layout.widths.get(key) ?? view.width);
          return (
            <div
              key={key}
              role="gridcell"
              className={`grid-cell${view.numeric ? " number" : ""}`}
              style={{ width: layout.widths.get(key) }}
              title={sum === undefined ? text : sumTitle(view, sum, shown)}
            >
              {text}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** With the decimals of the column, fewer when the sum does not fit; hovering shows all. */
export function sumText(view: ColumnView, sum: number | null, widthPx: number): string {
  const room = widthPx - CELL_PADDING_PX;
  let digits = view.digits;
  let text = cellText(view, sum);
  while (digits > 0 && textPx(text) * BOLD > room) text = cellText({ ...view, digits: --digits }, sum);
  return text;
}

/** Removes floating-point noise: 99.99999999999999 is 100; whole numbers are exact. */
function withoutNoise(sum: number | null): number | null {
  return sum === null || Number.isInteger(sum) ? sum : Number(sum.toPrecision(13));
}

/** "2 of 26 rows, 61.0 % of Total": the share of the main measure. */
export function countText({ matching, total, sums }: Pick<ShownRows, "matching" | "total" | "sums">, visible: readonly ColumnView[], mainKey: string | null): string {
  const rows = total === 1 ? "row" : "rows";
  if (matching === total) return `${formatNumber(total)} ${rows}`;
  const times = visible.filter(({ column }) => column.key in sums && (column.unit === "us" || column.unit === "ns"));
  const main = visible.find(({ column }) => column.key === mainKey && column.key in sums) ?? times[0];
  const share = main === undefined ? null : shareOf(sums[main.column.key]);
  const part = main === undefined || share === null ? "" : `, ${shareText(share)} of ${main.column.title}`;
  return `${formatNumber(matching)} of ${formatNumber(total)} ${rows}${part}`;
}

/** The exact sum, its share of all rows, and the rows without a value. */
export function sumTitle(view: Pick<ColumnView, "column" | "nullReason">, sum: ColumnSum, { matching, total }: Pick<ShownRows, "matching" | "total">): string {
  if (sum.shown === null) return view.nullReason ?? "No row has a value.";
  const share = matching === total ? null : shareOf(sum);
  const nulls = formatNumber(sum.shown_nulls);
  return [
    `Sum: ${exactValue(withoutNoise(sum.shown), view.column.unit)}`,
    ...(share === null ? [] : [`${shareText(share)} of all ${formatNumber(total)} rows`]),
    ...(sum.shown_nulls === 0 ? [] : [`${nulls} ${sum.shown_nulls === 1 ? "row has" : "rows have"} no value and ${sum.shown_nulls === 1 ? "is" : "are"} not included.`]),
  ].join("\n");
}
