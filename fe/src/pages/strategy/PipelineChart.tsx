/** The passes of the microbatches of one step, a row per stage; what is hatched between them is the bubble. */
import { useEffect, useMemo, useRef, useState } from "react";

import type { Table } from "../../api/types";
import { chartColors, type ChartColors } from "../../chart/colors";
import { pictureSvg, savePicture, type Picture, type PictureBox } from "../../chart/picture";
import { SaveMenu } from "../../chart/SaveMenu";
import { Swatch } from "../../chart/SwatchToggle";
import { toCsv } from "../../lib/csv";
import { formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { useElementWidth } from "../../table/useElementWidth";
import { pixelRatio, setSize } from "../../timeline/canvases";
import { onPrinting } from "../../ui/printing";
import { useTheme } from "../../ui/theme";
import { blockAt, pipelineRows, type PassBlock, type PipelineRows, type StageRow } from "./pipelineRows";

interface Props {
  readonly table: Table;
  readonly fileName: string;
  /** Opens the rank of a row. */
  readonly onOpen: (worker: string) => void;
}

const TITLE = "Pipeline";
const ROW_PX = 30;
const BLOCK_PX = 24;
const AXIS_PX = 22;
const LABELS_PX = 108;
/** Room of a digit. */
const DIGIT_PX = 8;
const HATCH_PX = 6;
const PICTURE_WIDTH_PX = 1200;

interface KindStyle {
  readonly kind: string;
  readonly title: string;
  readonly color: string;
}

/** Told apart by lightness, too. */
const KINDS: readonly KindStyle[] = [
  { kind: "forward", title: "Forward", color: "--cat-kernel" },
  { kind: "backward", title: "Backward", color: "--cat-memcpy" },
  { kind: "input", title: "Backward (inputs)", color: "--cat-memcpy" },
  { kind: "weight", title: "Backward (weights)", color: "--cat-cpu-exec" },
];

function styleOf(kind: string): KindStyle {
  return KINDS.find((each) => each.kind === kind) ?? { kind, title: kind, color: "--cat-other" };
}

export function PipelineChart({ table, fileName, onOpen }: Props) {
  const rows = useMemo(() => pipelineRows(table), [table]);
  const [measure, widthPx] = useElementWidth();
  const [hover, setHover] = useState<{ readonly row: StageRow; readonly us: number } | null>(null);
  if (rows.stages.length === 0) return null;
  const kinds = KINDS.filter(({ kind }) => rows.stages.some(({ blocks }) => blocks.some((block) => block.kind === kind)));
  const picture = () => pipelinePicture(rows);
  return (
    <figure className="card chart" aria-label={TITLE}>
      <header>
        <h2 title={table.help}>{TITLE}</h2>
        <span className="soft">Step {visibleText(rows.step)}, of median length</span>
        <span style={{ flex: 1 }} />
        <SaveMenu fileName={fileName} savePicture={() => savePicture(fileName, picture())} svg={() => pictureSvg(picture())} csv={() => toCsv(table.columns, table.rows)} />
      </header>
      <ul className="share-line passes-legend">
        {kinds.map(({ kind, title, color }) => (
          <li key={kind}>
            <Swatch color={color} />
            {title}
          </li>
        ))}
        <li>
          <i className="swatch passes-bubble" aria-hidden="true" />
          Bubble
        </li>
        <li className="soft">Numbers are microbatches.</li>
      </ul>
      <div className="passes-stage">
        <ol className="passes-labels">
          {rows.stages.map(({ stage, rank, worker }) => (
            <li key={stage}>
              <button type="button" className="frame-link" title={visibleText(worker)} onClick={() => onOpen(worker)}>
                Stage {stage}
                {rank !== null && <span className="soft"> rank {rank}</span>}
              </button>
            </li>
          ))}
        </ol>
        <div
          ref={measure}
          className="passes-canvas"
          style={{ height: rows.stages.length * ROW_PX + AXIS_PX }}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            const row = rows.stages[Math.floor((event.clientY - box.top) / ROW_PX)];
            setHover(row === undefined ? null : { row, us: ((event.clientX - box.left) / Math.max(1, box.width)) * rows.endUs });
          }}
          onPointerLeave={() => setHover(null)}
        >
          <Passes rows={rows} widthPx={widthPx} />
          {hover !== null && <Values rows={rows} row={hover.row} us={hover.us} widthPx={widthPx} />}
        </div>
      </div>
    </figure>
  );
}

function Passes({ rows, widthPx }: { readonly rows: PipelineRows; readonly widthPx: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const theme = useTheme();
  const [printings, setPrintings] = useState(0);
  useEffect(() => onPrinting(() => setPrintings((count) => count + 1)), []);
  useEffect(() => {
    const [element, context] = [canvas.current, canvas.current?.getContext("2d") ?? null];
    if (element === null || context === null || widthPx === 0) return;
    const ratio = pixelRatio();
    setSize(element, widthPx, rows.stages.length * ROW_PX + AXIS_PX, ratio);
    context.scale(ratio, ratio);
    drawPasses(context, rows, widthPx, chartColors());
  }, [rows, widthPx, theme, printings]);
  return <canvas ref={canvas} role="img" aria-label={`Chart: ${TITLE}. The table below has every pass.`} />;
}

function drawPasses(context: CanvasRenderingContext2D, { stages, endUs }: PipelineRows, widthPx: number, colors: ChartColors): void {
  const pxPerUs = widthPx / Math.max(endUs, Number.MIN_VALUE);
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  stages.forEach(({ blocks }, index) => {
    const y = index * ROW_PX + (ROW_PX - BLOCK_PX) / 2;
    hatch(context, y, widthPx, colors);
    for (const { kind, microbatch, startUs, endUs: end } of blocks) {
      const x = startUs * pxPerUs;
      // Neighbours stay apart, and the shortest pass is visible.
      const width = Math.max(1, (end - startUs) * pxPerUs - 1);
      context.fillStyle = colors.surface;
      context.fillRect(x, y, width + 1, BLOCK_PX);
      context.fillStyle = colors.color(styleOf(kind).color);
      context.fillRect(x, y, width, BLOCK_PX);
      const text = microbatch === null ? "" : String(microbatch);
      if (text.length * DIGIT_PX > width) continue;
      context.fillStyle = colors.surface;
      context.fillText(text, x + (width - context.measureText(text).width) / 2, y + BLOCK_PX / 2);
    }
  });
  const axisY = stages.length * ROW_PX + AXIS_PX / 2;
  context.fillStyle = colors.soft;
  context.fillText("0", 0, axisY);
  const last = formatValue(endUs, "us");
  context.fillText(last, widthPx - context.measureText(last).width, axisY);
}

/** The ground of a row: what no pass covers is the bubble. */
function hatch(context: CanvasRenderingContext2D, y: number, widthPx: number, colors: ChartColors): void {
  context.save();
  context.beginPath();
  context.rect(0, y, widthPx, BLOCK_PX);
  context.clip();
  context.strokeStyle = colors.color("--line-strong");
  context.lineWidth = 1;
  context.beginPath();
  for (let x = -BLOCK_PX; x < widthPx; x += HATCH_PX) {
    context.moveTo(x, y + BLOCK_PX);
    context.lineTo(x + BLOCK_PX, y);
  }
  context.stroke();
  context.restore();
}

interface ValuesProps {
  readonly rows: PipelineRows;
  readonly row: StageRow;
  readonly us: number;
  readonly widthPx: number;
}

/** Hidden from screen readers, as the table has the same values. */
function Values({ rows, row, us, widthPx }: ValuesProps) {
  const block = blockAt(row, us);
  const x = (us / Math.max(rows.endUs, Number.MIN_VALUE)) * widthPx;
  const side = x > widthPx / 2 ? { right: widthPx - x + 12 } : { left: x + 12 };
  const top = rows.stages.indexOf(row) * ROW_PX;
  return (
    <div className="matrix-values" style={{ ...side, top }} aria-hidden="true">
      <b>{block === null ? "Bubble" : blockTitle(block)}</b>
      <span>
        Stage {row.stage}
        {row.rank !== null && `, rank ${row.rank}`}
      </span>
      {block !== null && <span>{formatValue(block.endUs - block.startUs, "us")}</span>}
      <span className="soft">at {formatValue(block?.startUs ?? us, "us")}</span>
    </div>
  );
}

function blockTitle({ kind, microbatch, chunk }: PassBlock): string {
  const parts = [styleOf(kind).title, ...(microbatch === null ? [] : [`microbatch ${microbatch}`]), ...(chunk === null ? [] : [`model stage ${chunk}`])];
  return parts.join(", ");
}

function pipelinePicture({ stages, endUs }: PipelineRows): Picture {
  const colors = chartColors();
  const pxPerUs = (PICTURE_WIDTH_PX - LABELS_PX) / Math.max(endUs, Number.MIN_VALUE);
  const boxes = stages.flatMap(({ stage, blocks }, index): PictureBox[] => {
    const y = index * ROW_PX;
    const label: PictureBox = { x: 0, y, width: LABELS_PX, height: BLOCK_PX, fill: colors.surface, text: `Stage ${stage}` };
    const ground: PictureBox = { x: LABELS_PX, y, width: PICTURE_WIDTH_PX - LABELS_PX, height: BLOCK_PX, fill: colors.line };
    const passes = blocks.map(({ kind, microbatch, startUs, endUs: end }): PictureBox => {
      const fill = colors.color(styleOf(kind).color);
      return { x: LABELS_PX + startUs * pxPerUs, y, width: Math.max(1, (end - startUs) * pxPerUs - 1), height: BLOCK_PX, fill, text: String(microbatch ?? ""), textColor: colors.surface };
    });
    return [label, ground, ...passes];
  });
  return { title: TITLE, width: PICTURE_WIDTH_PX, height: stages.length * ROW_PX, boxes };
}
