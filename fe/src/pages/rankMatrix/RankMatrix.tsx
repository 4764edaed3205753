/** The ranks of a job as a matrix, coloured by a measure. A click or Enter opens a rank. */
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";

import { chartColors } from "../../chart/colors";
import { pictureSvg, savePicture, type Picture } from "../../chart/picture";
import { SaveMenu } from "../../chart/SaveMenu";
import { PLAIN_COLUMN } from "../../lib/columns";
import { toCsv } from "../../lib/csv";
import { formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { useElementWidth } from "../../table/useElementWidth";
import { pixelRatio, setSize } from "../../timeline/canvases";
import { onPrinting } from "../../ui/printing";
import { Segmented } from "../../ui/Segmented";
import { theme as currentTheme, useTheme } from "../../ui/theme";
import { arrangements, panels, type Arrangement, type MatrixMeasure, type MatrixRank } from "./arrange";
import { colorOf, shareOf, spreadOf } from "./colorScale";
import { cellAt, drawMatrix, positionOf, sizeOf, type Drawing } from "./draw";
import { MatrixLegend } from "./MatrixLegend";
import { cellAfter, firstCell } from "./moves";
import "./rankMatrix.css";

interface Props {
  readonly title: string;
  readonly help: string;
  readonly ranks: readonly MatrixRank[];
  readonly measure: MatrixMeasure;
  readonly fileName: string;
  /** Beside the title: a choice of the measure. */
  readonly extra?: ReactNode;
  /** How the cells stand, where they are of more than their rank. */
  readonly arranged?: Arrangement;
  /** Why values are missing. */
  readonly nullReason?: string | undefined;
  readonly onOpen: (worker: string) => void;
}

/** Left of the matrix for the labels of its rows, where they are shown. */
const LABELS_PX = 116;
/** Rows at least so high, in one panel, have labels. */
const LABELLED_ROW_PX = 12;
/** Of a picture that is saved. */
const PICTURE_WIDTH_PX = 960;
/** Until the width is known. */
const DEFAULT_WIDTH_PX = 600;

export function RankMatrix({ title, help, ranks, measure, fileName, extra, arranged, nullReason, onOpen }: Props) {
  const choices = useMemo(() => (arranged === undefined ? arrangements(ranks) : [arranged]), [ranks, arranged]);
  const [chosen, setChosen] = useState<string | null>(null);
  const arrangement = choices.find(({ id }) => id === chosen) ?? choices[0];
  if (arrangement === undefined || ranks.length === 0) return null;
  const outliers = ranks.filter(({ isOutlier }) => isOutlier).length;
  return (
    <figure className="card chart rank-matrix" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        {extra}
        {arranged === undefined && <Segmented label="Arranged by" values={choices.map(({ id }) => id)} value={arrangement.id} onPick={setChosen} title={(id) => `By ${(choices.find((each) => each.id === id)?.title ?? id).toLowerCase()}`} />}
        <span style={{ flex: 1 }} />
        <SaveMenu
          fileName={fileName}
          savePicture={() => savePicture(fileName, matrixPicture(title, ranks, arrangement))}
          svg={() => pictureSvg(matrixPicture(title, ranks, arrangement))}
          csv={() => matrixCsv(ranks, measure)}
        />
      </header>
      <div className="body">
        <MatrixLegend spread={spreadOf(ranks.map(({ value }) => value))} measure={measure} outliers={outliers} missing={ranks.filter(({ value }) => value === null).length} nullReason={nullReason} />
        <Stage title={title} ranks={ranks} measure={measure} arrangement={arrangement} nullReason={nullReason} onOpen={onOpen} />
        <p className="soft">
          Rows: {arrangement.rows.title}. Columns: {arrangement.columns.title}. Click a rank to open it; the table below has every value.
        </p>
      </div>
    </figure>
  );
}

interface StageProps extends Pick<Props, "title" | "ranks" | "measure" | "nullReason" | "onOpen"> {
  readonly arrangement: Arrangement;
}

function Stage({ title, ranks, measure, arrangement, nullReason, onOpen }: StageProps) {
  const [measureWidth, widthPx] = useElementWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hovered, setHovered] = useState(-1);
  const [focused, setFocused] = useState(-1);
  const theme = useTheme();
  const [printings, setPrintings] = useState(0);
  useEffect(() => onPrinting(() => setPrintings((count) => count + 1)), []);
  const drawing = useMemo(() => drawingOf(ranks, arrangement, Math.max(0, (widthPx || DEFAULT_WIDTH_PX) - LABELS_PX)), [ranks, arrangement, widthPx]);
  const hasLabels = drawing.panels.count === 1 && drawing.panels.cellPx >= LABELLED_ROW_PX;

  useEffect(() => {
    const [element, context] = [canvas.current, canvas.current?.getContext("2d") ?? null];
    if (element === null || context === null || widthPx === 0) return;
    const ratio = pixelRatio();
    const size = sizeOf(drawing);
    setSize(element, size.widthPx + 1, size.heightPx + 1, ratio);
    context.scale(ratio, ratio);
    drawMatrix(context, drawing, theme, chartColors(), focused);
  }, [drawing, widthPx, theme, focused, printings]);

  const cellOf = (event: PointerEvent | MouseEvent | React.MouseEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    const cell = box === undefined ? -1 : cellAt(event.clientX - box.left, event.clientY - box.top, drawing);
    return rankIn(drawing, cell) === null ? -1 : cell;
  };
  const open = (cell: number) => {
    const rank = rankIn(drawing, cell);
    if (rank !== null) onOpen(rank.worker);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter") open(focused);
    else {
      const next = cellAfter(event.key, Math.max(0, focused), arrangement);
      if (next === null) return;
      setFocused(next);
    }
    event.preventDefault();
  };
  const active = hovered >= 0 ? hovered : focused;
  return (
    <div ref={measureWidth} className="matrix-stage">
      {hasLabels && (
        <ol className="matrix-rows" aria-hidden="true">
          {arrangement.rows.labels.map((label) => (
            <li key={label} style={{ height: drawing.panels.cellPx }} title={visibleText(label)}>
              {visibleText(label)}
            </li>
          ))}
        </ol>
      )}
      <div className="matrix-canvas">
        <canvas
          ref={canvas}
          role="application"
          tabIndex={0}
          aria-label={`${title}: ${measure.title} of ${ranks.length} ${arrangement.id === "given" ? "cells" : "ranks"}. Arrow keys choose a rank, Enter opens it. The table below has every value.`}
          onPointerMove={(event) => setHovered(cellOf(event))}
          onPointerLeave={() => setHovered(-1)}
          onClick={(event) => open(cellOf(event))}
          onFocus={() => setFocused((cell) => (cell >= 0 ? cell : firstCell(arrangement.cells)))}
          onBlur={() => setFocused(-1)}
          onKeyDown={onKeyDown}
        />
        {active >= 0 && <Values drawing={drawing} cell={active} measure={measure} nullReason={nullReason} />}
      </div>
      <p role="status" className="off-screen">
        {focused >= 0 && cellText(drawing, focused, measure)}
      </p>
    </div>
  );
}

function drawingOf(ranks: readonly MatrixRank[], arrangement: Arrangement, widthPx: number): Drawing {
  const spread = spreadOf(ranks.map(({ value }) => value));
  return { arrangement, ranks, spread, panels: panels(arrangement.rows.labels.length, arrangement.columns.labels.length, widthPx) };
}

function rankIn({ arrangement, ranks }: Drawing, cell: number): MatrixRank | null {
  return ranks[arrangement.cells[cell] ?? -1] ?? null;
}

function nameOf({ rank, worker }: MatrixRank): string {
  return rank === null ? visibleText(worker) : `Rank ${rank}`;
}

function positionText({ arrangement }: Drawing, cell: number): string {
  const width = arrangement.columns.labels.length;
  const labels = [arrangement.rows.labels[Math.floor(cell / width)], arrangement.columns.labels[cell % width]];
  return arrangement.id === "order" ? "" : visibleText(labels.join(" · "));
}

function cellText(drawing: Drawing, cell: number, measure: MatrixMeasure): string {
  const rank = rankIn(drawing, cell);
  if (rank === null) return "";
  const outlier = rank.isOutlier ? ", an outlier" : "";
  return `${nameOf(rank)}, ${positionText(drawing, cell)}: ${measure.title} ${formatValue(rank.value, measure.unit)}${outlier}`;
}

interface ValuesProps {
  readonly drawing: Drawing;
  readonly cell: number;
  readonly measure: MatrixMeasure;
  readonly nullReason?: string | undefined;
}

/** Hidden from screen readers: the status line has the same. */
function Values({ drawing, cell, measure, nullReason }: ValuesProps) {
  const rank = rankIn(drawing, cell);
  if (rank === null) return null;
  const { x, y } = positionOf(cell, drawing);
  const { widthPx } = sizeOf(drawing);
  const isLeft = x > widthPx / 2;
  const side = isLeft ? { right: widthPx - x + 8 } : { left: x + drawing.panels.cellPx + 8 };
  return (
    <div className="matrix-values" style={{ ...side, top: y }} aria-hidden="true">
      <b>{nameOf(rank)}</b>
      <span>{positionText(drawing, cell)}</span>
      <span>
        {measure.title}: {formatValue(rank.value, measure.unit)}
      </span>
      {rank.value === null && nullReason !== undefined && <span className="soft">{nullReason}</span>}
      {rank.isOutlier && <span className="matrix-outlier">Outlier</span>}
      {rank.rank !== null && <span className="soft">{visibleText(rank.worker)}</span>}
    </div>
  );
}

function matrixPicture(title: string, ranks: readonly MatrixRank[], arrangement: Arrangement): Picture {
  const drawing = drawingOf(ranks, arrangement, PICTURE_WIDTH_PX);
  const colors = chartColors();
  const { widthPx, heightPx } = sizeOf(drawing);
  const size = Math.max(1, drawing.panels.cellPx - 1);
  const boxes = [...arrangement.cells].flatMap((index, cell) => {
    const rank = ranks[index];
    if (rank === undefined) return [];
    const isKnown = rank.value !== null && drawing.spread !== null;
    const fill = isKnown ? colorOf(shareOf(rank.value, drawing.spread), currentTheme()) : colors.line;
    const box = { ...positionOf(cell, drawing), width: size, height: size, fill };
    return rank.isOutlier ? [{ ...box, x: box.x - 1, y: box.y - 1, width: size + 2, height: size + 2, fill: colors.color("--bad") }, box] : [box];
  });
  return { title, width: widthPx, height: heightPx, boxes };
}

function matrixCsv(ranks: readonly MatrixRank[], { title, unit }: MatrixMeasure): string {
  const column = (key: string) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN });
  const value = `${title}${unit === null ? "" : ` (${unit})`}`;
  return toCsv(["worker", "rank", value, "outlier"].map(column), ranks.map((rank) => [rank.worker, rank.rank, rank.value, rank.isOutlier]));
}
