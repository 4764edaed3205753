/** The data of a chart, independent of its drawing. Values are in the base unit of the server. */
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
  /** Further text in the tooltip of each category. */
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

/** A vertical line at a value of x. */
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
  /** Names of lines that are stacked as areas. */
  readonly stacked?: readonly string[];
  /** Names of lines that are limits and drawn dashed. */
  readonly dashed?: readonly string[];
  /** The visible range of x, shared by charts below each other; all of x by default. */
  readonly range?: ChartRange;
}

export type ChartData = CategoryChart | CurveChart;

/** A zoomed range: category indexes, or values of x; both ends included. */
export interface ChartRange {
  readonly start: number;
  readonly end: number;
}

export function isCurve(chart: ChartData): chart is CurveChart {
  return chart.kind === "line" || chart.kind === "stair";
}
