/** What a chart shows, apart from how it is drawn. Values are in the unit the server counts in. */
import type { Unit } from "../api/types";

export interface Axis {
  readonly title: string;
  readonly unit: Unit | null;
}

export interface CategoryLine {
  readonly name: string;
  readonly values: readonly (number | null)[];
}

/** Bars over named things: steps, kernels, workers. */
export interface CategoryChart {
  readonly kind: "bar" | "stacked_bar";
  readonly horizontal: boolean;
  readonly categories: readonly string[];
  /** What hovering says of each, beside its name. */
  readonly fullNames?: readonly string[];
  readonly lines: readonly CategoryLine[];
  readonly categoryTitle: string;
  readonly value: Axis;
}

export interface CurveLine {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
}

export interface Mark {
  readonly x: number;
  readonly y: number;
  readonly label: string;
}

/** A moment that is marked over the whole height. */
export interface Vertical {
  readonly x: number;
  readonly label: string;
}

/** Curves over a number, mostly time. */
export interface CurveChart {
  readonly kind: "line" | "stair";
  readonly lines: readonly CurveLine[];
  readonly x: Axis;
  readonly y: Axis;
  readonly marks: readonly Mark[];
  readonly verticals?: readonly Vertical[];
  /** Names of lines that are levels of one whole: areas, each upon the one before it. */
  readonly stacked?: readonly string[];
  /** Names of lines that are no course but a limit: they are dashed. */
  readonly dashed?: readonly string[];
  /** What of x is shown, where charts below each other show the same; else all there is. */
  readonly range?: ChartRange;
}

export type ChartData = CategoryChart | CurveChart;

/** A zoomed part: places among the categories, or values of x; both ends included. */
export interface ChartRange {
  readonly start: number;
  readonly end: number;
}

export function isCurve(chart: ChartData): chart is CurveChart {
  return chart.kind === "line" || chart.kind === "stair";
}
