/** All iterations as bars, and the range of them that is selected. */
import { useMemo } from "react";

import type { Table } from "../../api/types";
import { chartColors } from "../../chart/colors";
import { SaveMenu } from "../../chart/SaveMenu";
import { Swatch, SwatchToggle, useHiddenSeries } from "../../chart/SwatchToggle";
import { toCsv } from "../../lib/csv";
import { saveUrl } from "../../lib/download";
import { formatNumber } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { adjust, navigate, useParams } from "../../state/urlStore";
import { Segmented } from "../../ui/Segmented";
import { barsOf, withoutParts, type Bars } from "./bars";
import { BarStage } from "./BarStage";
import { drawBars, PLOT, UNSELECTED } from "./draw";
import { selectedRange, withSelection, type Range } from "./range";
import { RangeField } from "./RangeField";
import { selectSteps, useRangeDraft } from "./useRangeDraft";

interface Props {
  readonly table: Table;
  readonly fileName: string;
}

const TITLE = "Iteration time";

export function IterationChart({ table, fileName }: Props) {
  const params = useParams();
  const recorded = useMemo(() => barsOf(table), [table]);
  const bars = useMemo(() => withSelection(recorded, params), [recorded, params]);
  const { names } = bars;
  const series = useHiddenSeries();
  const shown = useMemo(() => withoutParts(bars, series.hidden), [bars, series.hidden]);
  const selected = useMemo(() => selectedRange(bars), [bars]);
  const draft = useRangeDraft(selected, names);
  const all: Range = { first: 0, last: names.length - 1 };
  const isZoomed = params["bars"] === "selected" && selected !== null;
  const chosen = params["iteration"] === undefined ? -1 : names.indexOf(params["iteration"]);
  const { range } = draft;
  const isPart = table.row_count > names.length;
  return (
    <figure className="card chart" aria-label={TITLE}>
      <header>
        <h2 title={table.help}>{TITLE}</h2>
        <Segmented label="Shown" values={["all", "selected"]} value={isZoomed ? "selected" : "all"} onPick={(value) => adjust({ bars: value === "all" ? null : value })} title={(value) => (value === "all" ? "All" : "Selected")} />
        {range !== null && (
          <span className="iteration-range no-print">
            Selected
            <RangeField end="first" index={range.first} names={names} draft={draft} />
            <RangeField end="last" index={range.last} names={names} draft={draft} />
            <span className="soft">{countText(range, bars, draft.isMoving)}{isPart && ", the first"}</span>
          </span>
        )}
        {"steps" in params && (
          <button type="button" className="button no-print" onClick={() => selectSteps(null)}>
            Select all
          </button>
        )}
        <span style={{ flex: 1 }} />
        <SaveMenu fileName={fileName} savePicture={() => savePicture(fileName, shown, all, selected)} csv={() => toCsv(table.columns, table.rows)} />
      </header>
      <ul className="iteration-legend">
        {bars.parts.map(({ key, title, color }) => (
          <li key={key}>
            <SwatchToggle name={title} mark={<Swatch color={color} />} series={series} />
          </li>
        ))}
        <li>
          <Swatch color={UNSELECTED} />
          Not selected
        </li>
        <li className="soft no-print">Drag over the bars to select; click one for its operators.</li>
      </ul>
      <BarStage title={TITLE} bars={shown} isPartial={shown !== bars} shown={isZoomed ? selected : all} draft={draft} chosen={chosen} onChoose={(index) => navigate({ iteration: names[index], operator_id: null })} />
      <p role="status" className="off-screen">
        {selected === null ? "No iteration is selected." : `Iterations ${visibleText(names[selected.first] ?? "")} to ${visibleText(names[selected.last] ?? "")} are selected.`}
      </p>
      {isPart && (
        <p className="soft body">
          The bars show the first {formatNumber(names.length)} of {formatNumber(table.row_count)} iterations; the table has all.
        </p>
      )}
    </figure>
  );
}

/** "3 of 10"; the number comes from the server, as a selection may have gaps. */
function countText({ first, last }: Range, { selected, names }: Bars, isMoving: boolean): string {
  const inside = isMoving ? last - first + 1 : selected.subarray(first, last + 1).reduce((sum, each) => sum + each, 0);
  return `${formatNumber(inside)} of ${formatNumber(names.length)}`;
}

const PICTURE = { widthPx: 1200, heightPx: 320, ratio: 2 } as const;
const LEGEND_PX = 28;

function savePicture(fileName: string, bars: Bars, shown: Range, range: Range | null): void {
  const canvas = document.createElement("canvas");
  canvas.width = PICTURE.widthPx * PICTURE.ratio;
  canvas.height = (PICTURE.heightPx + LEGEND_PX) * PICTURE.ratio;
  const context = canvas.getContext("2d");
  if (context === null) return;
  const colors = chartColors();
  context.scale(PICTURE.ratio, PICTURE.ratio);
  context.fillStyle = colors.surface;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const window = { from: shown.first, to: shown.last + 1, widthPx: PICTURE.widthPx - PLOT.left - PLOT.right };
  drawBars(context, { bars, window, heightPx: PICTURE.heightPx, range, isSelected: (index) => bars.selected[index] === 1, chosen: -1, colors });
  let x: number = PLOT.left;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const { title, color } of bars.parts) {
    context.fillStyle = colors.color(color);
    context.fillRect(x, PICTURE.heightPx + 4, 12, 12);
    context.fillStyle = colors.text;
    context.fillText(title, x + 18, PICTURE.heightPx + 10);
    x += 40 + context.measureText(title).width;
  }
  saveUrl(`${fileName}.png`, canvas.toDataURL("image/png"));
}
