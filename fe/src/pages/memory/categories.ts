/** The chart of memory by category: levels stacked on one another, what is reserved above them, passes as strokes. */
import type { Series } from "../../api/types";
import type { CurveChart, CurveLine, Mark, Vertical } from "../../chart/types";

/** Lines of the series that are no level: where passes begin and end. */
const STROKES = ["forward start", "backward end"];
const RESERVED = "reserved";

/** @param at The chosen moment, on the axis of the chart. */
export function categoryChart(series: Series, device: string, at: number | null, marks: readonly Mark[]): CurveChart {
  const own = series.lines.flatMap((line): CurveLine[] => {
    const name = line.name.startsWith(`${device} `) ? line.name.slice(device.length + 1) : null;
    return name === null ? [] : [{ ...line, name: name.replaceAll("_", " ") }];
  });
  const chosen: Vertical[] = at === null ? [] : [{ x: at, label: "chosen" }];
  return {
    kind: "stair",
    lines: own,
    stacked: own.map(({ name }) => name).filter((name) => name !== RESERVED),
    x: { title: series.x_title, unit: series.x_unit },
    y: { title: series.y_title, unit: series.y_unit },
    marks,
    verticals: [...strokes(series), ...chosen].sort((a, b) => a.x - b.x),
  };
}

function strokes(series: Series): Vertical[] {
  return series.lines
    .filter(({ name }) => STROKES.includes(name))
    .flatMap(({ name, x }) => [...new Set(x)].map((moment) => ({ x: moment, label: name })));
}
