/** The roofline plot: the rooflines of the device and a point per row, on logarithmic axes. */
import { useMemo, useState, type KeyboardEvent } from "react";

import type { Series, Table } from "../../api/types";
import { formatNumber, formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { useElementWidth } from "../../table/useElementWidth";
import { decadeText, decades, toPixel, type LogScale } from "./logScale";
import { heightAt, pointsOf, radiusOf, roofsOf, symbolPath, windowOf, type Bound, type PlotPoint, type Roof } from "./plot";

interface Props {
  readonly series: Series;
  readonly table: Table;
  /** Texts of the bounds whose points are hidden. */
  readonly hidden: ReadonlySet<string>;
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}

const HEIGHT_PX = 420;
const MARGIN = { left: 66, right: 18, top: 16, bottom: 46 };
const LABEL_PX = 15;
const MAX_LABELS = 9;
const MIN_LABEL_PX = 70;

export const BOUND_TEXT: Readonly<Record<Bound, string>> = {
  compute: "compute-bound",
  memory: "memory-bound",
  latency: "latency-bound",
  unknown: "bound unknown",
};

interface Scales {
  readonly x: LogScale;
  readonly y: LogScale;
}

export function RooflinePlot({ series, table, hidden, chosen, onChoose }: Props) {
  const [measure, width] = useElementWidth();
  const all = useMemo(() => pointsOf(table), [table]);
  const points = useMemo(() => all.filter(({ bound }) => !hidden.has(BOUND_TEXT[bound])), [all, hidden]);
  const roofs = useMemo(() => roofsOf(series), [series]);
  const [hovered, setHovered] = useState<string | null>(null);
  const scales = useMemo(() => scalesOf(all, roofs, width), [all, roofs, width]);
  const radius = (point: PlotPoint) => radiusOf(point.timePct, all[0]?.timePct ?? point.timePct, all.length);
  const highlighted = points.find(({ id }) => id === (hovered ?? chosen)) ?? null;
  const step = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by === undefined || points.length === 0) return;
    event.preventDefault();
    const now = points.findIndex(({ id }) => id === (hovered ?? chosen));
    const next = points[(now + by + points.length) % points.length];
    if (next !== undefined) onChoose(next.id);
  };
  return (
    <div ref={measure} className="roofline">
      <svg
        width={width}
        height={HEIGHT_PX}
        role="listbox"
        aria-label="Rows on the roofline, those with the most time first; arrow keys choose one"
        tabIndex={0}
        onKeyDown={step}
      >
        <Axes scales={scales} />
        {[...points].reverse().map((point) => (
          <g
            key={point.id}
            role="option"
            aria-selected={point.id === chosen}
            aria-label={pointText(point)}
            data-point={point.id}
            className={`roofline-point is-${point.bound}${point.id === chosen ? " chosen" : ""}`}
            transform={`translate(${toPixel(scales.x, point.intensity)},${toPixel(scales.y, point.tflops)})`}
            onMouseEnter={() => setHovered(point.id)}
            onMouseLeave={() => setHovered(null)}
            onClick={() => onChoose(point.id)}
          >
            <path d={symbolPath(point.bound, radius(point))} />
          </g>
        ))}
        <Roofs roofs={roofs} scales={scales} />
      </svg>
      {highlighted !== null && <PointTip point={highlighted} below={radius(highlighted)} scales={scales} width={width} />}
    </div>
  );
}

function scalesOf(points: readonly PlotPoint[], roofs: readonly Roof[], width: number): Scales {
  const { x, y } = windowOf(points, roofs);
  return {
    x: { low: x[0], high: x[1], from: MARGIN.left, to: Math.max(width - MARGIN.right, MARGIN.left + 1) },
    y: { low: y[0], high: y[1], from: HEIGHT_PX - MARGIN.bottom, to: MARGIN.top },
  };
}

function Axes({ scales: { x, y } }: { readonly scales: Scales }) {
  return (
    <g className="roofline-axes">
      {decades(x, Math.max(2, Math.floor((x.to - x.from) / MIN_LABEL_PX))).map((value) => (
        <g key={value} transform={`translate(${toPixel(x, value)},0)`}>
          <line y1={y.to} y2={y.from} />
          <text y={y.from + 18} textAnchor="middle">
            {decadeText(value)}
          </text>
        </g>
      ))}
      {decades(y, MAX_LABELS).map((value) => (
        <g key={value} transform={`translate(0,${toPixel(y, value)})`}>
          <line x1={x.from} x2={x.to} />
          <text x={x.from - 8} dy="0.35em" textAnchor="end">
            {decadeText(value)}
          </text>
        </g>
      ))}
      <text className="title" x={(x.from + x.to) / 2} y={HEIGHT_PX - 8} textAnchor="middle">
        Arithmetic intensity (FLOP/byte) →
      </text>
      <text className="title" transform={`translate(14,${(y.from + y.to) / 2}) rotate(-90)`} textAnchor="middle">
        Performance (TFLOP/s) →
      </text>
    </g>
  );
}

function Roofs({ roofs, scales: { x, y } }: { readonly roofs: readonly Roof[]; readonly scales: Scales }) {
  const labels: number[] = [];
  return (
    <g className="roofline-roofs">
      {roofs.map((roof) => {
        const ridge = roof.line.slice(1, -1).map(([at]) => at);
        const xs = [x.low, ...ridge.filter((at) => at > x.low && at < x.high), x.high];
        const corners = xs.map((at) => [toPixel(x, at), toPixel(y, Math.max(heightAt(roof, at), y.low))] as const);
        const top = corners.at(-1)?.[1] ?? y.to;
        let label = top - 5;
        while (labels.some((other) => Math.abs(other - label) < LABEL_PX)) label += LABEL_PX;
        labels.push(label);
        return (
          <g key={roof.label}>
            <path d={`M${corners.map((corner) => corner.join(",")).join("L")}`} />
            <text x={x.to} y={label} textAnchor="end">
              {visibleText(roof.label)}
            </text>
          </g>
        );
      })}
      <MemoryLabel roofs={roofs} x={x} y={y} />
    </g>
  );
}

/** The memory bandwidth, along the rising part of the roofline. */
function MemoryLabel({ roofs, x, y }: { readonly roofs: readonly Roof[]; readonly x: LogScale; readonly y: LogScale }) {
  const roof = roofs[0];
  if (roof?.memory === undefined || roof.memory === null) return null;
  const ridge = Math.min(roof.line[1]?.[0] ?? x.high, x.high);
  const low = Math.max(x.low, (y.low / heightAt(roof, ridge)) * ridge);
  const middle = Math.sqrt(low * ridge);
  const at = [toPixel(x, middle), toPixel(y, heightAt(roof, middle))] as const;
  const to = [toPixel(x, ridge), toPixel(y, heightAt(roof, ridge))] as const;
  const angle = (Math.atan2(to[1] - at[1], to[0] - at[0]) * 180) / Math.PI;
  return (
    <text transform={`translate(${at[0]},${at[1]}) rotate(${angle})`} dy={-6} textAnchor="middle">
      {visibleText(roof.memory)}
    </text>
  );
}

function pointText(point: PlotPoint): string {
  const roof = point.roofPct === null ? "" : `, ${formatValue(point.roofPct, "pct")} of its roofline`;
  return visibleText(`${point.name}: ${formatNumber(point.tflops, 3)} TFLOP/s${roof}, ${BOUND_TEXT[point.bound]}`);
}

interface TipProps {
  readonly point: PlotPoint;
  readonly below: number;
  readonly scales: Scales;
  readonly width: number;
}

function PointTip({ point, below, scales, width }: TipProps) {
  const left = toPixel(scales.x, point.intensity);
  const top = toPixel(scales.y, point.tflops) + below + 6;
  const side = left > width / 2 ? { right: width - left } : { left };
  return (
    <div className="chart-tip roofline-tip" style={{ ...side, top: Math.min(top, HEIGHT_PX - 150) }} role="status">
      <strong>{visibleText(point.name)}</strong>
      {point.inputShape !== "" && <small>{visibleText(point.inputShape)}</small>}
      <dl>
        <dt>Performance</dt>
        <dd>{formatNumber(point.tflops, point.tflops < 1 ? 4 : 2)} TFLOP/s</dd>
        <dt>FLOP per byte</dt>
        <dd>{formatNumber(point.intensity, 2)}</dd>
        <dt>Share of its roofline</dt>
        <dd>{formatValue(point.roofPct, "pct")}</dd>
        <dt>Share of device time</dt>
        <dd>{formatValue(point.timePct, "pct")}</dd>
        <dt>Bound</dt>
        <dd>{BOUND_TEXT[point.bound]}</dd>
      </dl>
    </div>
  );
}
