/** The chart of memory by category: stacked areas, the reserved memory as a line, passes as vertical lines. */
import type { Series } from "../../api/types";
import type { CurveChart, CurveLine, Mark, Vertical } from "../../chart/types";

/** Lines of the series that mark where passes begin and end. */
const PASS_BOUNDARIES = ["forward start", "backward end"];
const RESERVED = "reserved";

/** @param at The chosen moment, on the axis of the chart. */
export function categoryChart(series: Series, device: string, at: number | null, marks: readonly Mark[]): CurveChart {
  const deviceLines = series.lines.flatMap((line): CurveLine[] => {
    const name = line.name.startsWith(`${device} `) ? line.name.slice(device.length + 1) : null;
    return name === null ? [] : [{ ...line, name: name.replaceAll("_", " ") }];
  });
  const chosen: Vertical[] = at === null ? [] : [{ x: at, label: "chosen" }];
  return {
    kind: "stair",
    lines: deviceLines,
    stacked: deviceLines.map(({ name }) => name).filter((name) => name !== RESERVED),
    x: { title: series.x_title, unit: series.x_unit },
    y: { title: series.y_title, unit: series.y_unit },
    marks,
    verticals: [...passBoundaries(series), ...chosen].sort((a, b) => a.x - b.x),
  };
}

function passBoundaries(series: Series): Vertical[] {
  return series.lines
    .filter(({ name }) => PASS_BOUNDARIES.includes(name))
    .flatMap(({ name, x }) => [...new Set(x)].map((moment) => ({ x: moment, label: name })));
}
