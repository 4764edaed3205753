/** The panel of the throughput: figures with their units, and where the profiler began. */
import { describe, expect, it } from "vitest";

import type { Fact, Series, Table } from "../../api/types";
import { stepCurve, stepKinds, throughputFacts } from "./throughput";

const KEYS = ["steps_of", "measure", "unit", "mean", "max", "min", "median", "p95", "steps"];

function table(rows: Table["rows"]): Table {
  const columns = KEYS.map((key) => ({ key, title: key, type: "number", unit: null, help: "", estimated: false, family: null, hidden: false, additive: false }));
  return { title: "Throughput", help: "", columns, rows, row_count: rows.length, null_reasons: {}, tree: null, sums: {} } as unknown as Table;
}

describe("stepKinds", () => {
  it("gives times and rates of each kind of steps their units", () => {
    const kinds = stepKinds(
      table([
        ["training", "batch_cost", "us", 10_000, 12_000, 9_000, 10_500, 11_500, 90],
        ["training", "reader_cost", "us", null, null, null, null, null, 90],
        ["evaluation", "samples_per_s", "1/s", 3200, 4000, 3000, 3100, 3900, 1],
      ]),
    );
    expect(kinds.map(({ name, steps }) => [name, steps])).toEqual([["training", 90], ["evaluation", 1]]);
    expect(kinds[0]?.figures).toEqual([
      { measure: "Batch cost", texts: ["10.0 ms", "10.5 ms", "11.5 ms", "9.00 ms", "12.0 ms"] },
      { measure: "Reader cost", texts: ["–", "–", "–", "–", "–"] },
    ]);
    expect(kinds[1]?.figures[0]?.texts[0]).toMatch(/^3.200.*\/s$/);
  });
});

describe("stepCurve", () => {
  const lines: Series["lines"] = [
    { name: "training", x: [0, 10, 10, 30, 40], y: [5, 5, null, 6, 6] },
    { name: "training under the profiler", x: [10, 20, 20, 50, 60], y: [8, 8, null, 9, 9] },
  ];
  const series: Series = { title: "", kind: "stair", x_title: "", x_unit: "us", y_title: "", y_unit: "us", lines };

  it("marks each start of the profiler", () => {
    expect(stepCurve(series)).toMatchObject({ verticals: [{ x: 10 }, { x: 50 }] });
  });

  it("marks nothing without a profiler", () => {
    expect(stepCurve({ ...series, lines: lines.slice(0, 1) })).not.toHaveProperty("verticals");
  });
});

it("shows the known facts", () => {
  const fact = (key: string, value: number | null) => ({ key, value }) as Fact;
  const facts = [fact("warmup_steps", 4), fact("reader_ratio_pct", 20), fact("profiler_overhead_pct", null), fact("steps_per_s", 3)];
  expect(throughputFacts(facts).map(({ key }) => key)).toEqual(["reader_ratio_pct", "warmup_steps"]);
});
