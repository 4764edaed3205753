/** The bandwidth of copies over time, with the limits of their links as dashed lines. */
import type { Series, Table } from "../../api/types";
import type { CurveChart, CurveLine } from "../../chart/types";
import { numberOf, textOf } from "../../lib/rows";

export function rateChart(series: Series, kinds: Table | undefined): CurveChart {
  const xs = series.lines.flatMap(({ x }) => [x[0] ?? 0, x.at(-1) ?? 0]);
  const ends = [Math.min(...xs), Math.max(...xs)];
  const limits = kinds === undefined ? [] : series.lines.flatMap(({ name }) => limitsOf(kinds, name).map((limit): CurveLine => ({ name: `limit of ${name}, ${limit.toPrecision(3)} GB/s`, x: ends, y: [limit, limit] })));
  return {
    kind: "stair",
    lines: [...series.lines, ...limits],
    dashed: limits.map(({ name }) => name),
    x: { title: series.x_title, unit: series.x_unit },
    y: { title: series.y_title, unit: series.y_unit },
    marks: [],
  };
}

/** The limits of the links of a direction; devices may differ. */
function limitsOf(kinds: Table, kind: string): number[] {
  const limits = kinds.rows.filter((row) => textOf(kinds, row, "kind") === kind).map((row) => numberOf(kinds, row, "limit_gb_per_s"));
  return [...new Set(limits.filter((limit) => limit !== null))];
}
