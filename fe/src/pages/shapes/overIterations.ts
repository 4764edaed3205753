/** The curves of one operator, or of one type, over the iterations, from rows of the tables of the view. */
import type { Table } from "../../api/types";
import type { CurveChart } from "../../chart/types";
import { numberOf, textOf } from "../../lib/rows";

interface Point {
  us: number;
  calls: number;
}

/** Null with fewer than two iterations that have a time. An iteration with several shapes has several rows. */
export function iterationCurves(table: Table): CurveChart | null {
  const points = new Map<string, Point>();
  for (const row of table.rows) {
    const us = numberOf(table, row, "time_us");
    const mean = numberOf(table, row, "call_mean_us");
    if (us === null || mean === null) continue;
    const point = points.get(textOf(table, row, "iteration")) ?? { us: 0, calls: 0 };
    // Calls without a recorded time are in neither curve.
    const calls = mean > 0 ? us / mean : (numberOf(table, row, "calls") ?? 0);
    points.set(textOf(table, row, "iteration"), { us: point.us + us, calls: point.calls + calls });
  }
  const names = [...points.keys()];
  if (names.length < 2) return null;
  const areNumbers = names.every((name) => /^\d+$/.test(name));
  const ordered = [...points.entries()].map(([name, point], index) => ({ x: areNumbers ? Number(name) : index, ...point }));
  ordered.sort((a, b) => a.x - b.x);
  const x = ordered.map((point) => point.x);
  return {
    kind: "line",
    lines: [
      { name: "Sum per iteration", x, y: ordered.map(({ us }) => us) },
      { name: "Mean per call", x, y: ordered.map(({ us, calls }) => (calls > 0 ? us / calls : null)) },
    ],
    x: { title: "Iteration", unit: null },
    y: { title: "Time", unit: "us" },
    marks: [],
  };
}
