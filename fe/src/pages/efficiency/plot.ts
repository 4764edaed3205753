/** The data of the roofline plot: points of the table, rooflines of the series, and the window with both. */
import type { Series, Table } from "../../api/types";
import { cellOf, numberOf, textOf } from "../../lib/rows";

export type Bound = "compute" | "memory" | "latency" | "unknown";

export interface PlotPoint {
  /** The key of its row in the table. */
  readonly id: string;
  readonly name: string;
  readonly inputShape: string;
  readonly intensity: number;
  readonly tflops: number;
  readonly timePct: number;
  readonly roofPct: number | null;
  readonly bound: Bound;
  readonly dtype: string;
}

export interface Roof {
  /** Number type and rate: "bfloat16: 989.4 TFLOP/s". */
  readonly label: string;
  /** "memory 3350 GB/s", if the bandwidth is known. */
  readonly memory: string | null;
  readonly line: readonly (readonly [number, number])[];
}

export interface Window {
  readonly x: readonly [number, number];
  readonly y: readonly [number, number];
}

const ROOM = 3;
const BOUNDS: readonly Bound[] = ["compute", "memory", "latency"];

/** The points, those with the most time first. */
export function pointsOf(table: Table): PlotPoint[] {
  return table.rows.flatMap((row): PlotPoint[] => {
    const intensity = numberOf(table, row, "intensity_flop_per_byte");
    const tflops = numberOf(table, row, "tflops_per_s");
    const timePct = numberOf(table, row, "device_time_pct");
    if (intensity === null || tflops === null || timePct === null) return [];
    const name = textOf(table, row, "name");
    const inputShape = textOf(table, row, "input_shape");
    const recordedBound = cellOf(table, row, "bound");
    const bound = BOUNDS.find((each) => each === recordedBound) ?? "unknown";
    const roofPct = numberOf(table, row, "roof_pct");
    return [{ id: rowKey(name, inputShape), name, inputShape, intensity, tflops, timePct, roofPct, bound, dtype: textOf(table, row, "dtype") }];
  });
}

/** The key of a row: the name alone is not unique when rows are grouped by shape. */
export function rowKey(name: string, inputShape: string): string {
  return inputShape === "" ? name : `${name} ${inputShape}`;
}

export function roofsOf(series: Series): Roof[] {
  return series.lines.map(({ name, x, y }) => {
    const [label = name, memory = null] = name.split(", memory ");
    const line = x.flatMap((each, index) => {
      const height = y[index];
      return height === null || height === undefined ? [] : [[each, height] as const];
    });
    return { label, memory: memory === null ? null : `memory ${memory}`, line };
  });
}

/** The visible window: all points and the ridges of all rooflines, with some margin. */
export function windowOf(points: readonly PlotPoint[], roofs: readonly Roof[]): Window {
  const ridges = roofs.flatMap(({ line }) => line.slice(1, -1));
  const xs = [...points.map((point) => point.intensity), ...ridges.map(([x]) => x)];
  const ys = [...points.map((point) => point.tflops), ...roofs.flatMap(({ line }) => line.slice(-1).map(([, y]) => y))];
  if (xs.length === 0) xs.push(0.1, 1000);
  if (ys.length === 0) ys.push(0.01, 100);
  return { x: widened(xs), y: widened(ys) };
}

function widened(values: readonly number[]): [number, number] {
  return [Math.min(...values) / ROOM, Math.max(...values) * ROOM];
}

/** Height of a roofline, interpolated on the log-log plane, where its pieces are straight. */
export function heightAt({ line }: Roof, x: number): number {
  const next = line.findIndex(([each]) => each >= x);
  const [lastX, lastY] = line.at(-1) ?? [1, 1];
  if (next === -1) return lastX <= x ? lastY : 0;
  const [rightX, rightY] = line[next] ?? [1, 1];
  const [leftX, leftY] = line[next - 1] ?? [rightX, rightY];
  if (leftX === rightX) return rightY * (next === 0 ? x / rightX : 1);
  const share = Math.log(x / leftX) / Math.log(rightX / leftX);
  return leftY * (rightY / leftY) ** share;
}

const MIN_RADIUS = 4;
const MAX_RADIUS = 22;
const MAX_RADIUS_OF_MANY = 11;
const MANY = 60;

/** Radius of a point: its area is its time relative to the largest one. */
export function radiusOf(timePct: number, largestPct: number, count: number): number {
  const maxRadius = count > MANY ? MAX_RADIUS_OF_MANY : MAX_RADIUS;
  return Math.max(MIN_RADIUS, maxRadius * Math.sqrt(timePct / Math.max(largestPct, timePct)));
}

/** An SVG path of the symbol of a bound around the origin: shape and colour both encode it. */
export function symbolPath(bound: Bound, radius: number): string {
  const r = radius;
  switch (bound) {
    case "compute":
      return `M0,${-r}L${r},${0.8 * r}H${-r}Z`;
    case "memory":
      return `M${-0.85 * r},${-0.85 * r}H${0.85 * r}V${0.85 * r}H${-0.85 * r}Z`;
    case "latency":
      return `M0,${-r}A${r},${r} 0 1 1 0,${r}A${r},${r} 0 1 1 0,${-r}Z`;
    case "unknown":
      return `M0,${-r}L${r},0L0,${r}L${-r},0Z`;
  }
}
