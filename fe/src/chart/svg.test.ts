/** Charts saved as SVG: well-formed, and no name in them acts. */
import { expect, it } from "vitest";

import { HOSTILE_NAMES } from "../lib/hostileNames";
import type { ChartColors } from "./colors";
import { chartOptions } from "./options";
import { chartSvg } from "./svg";
import { actingIn, readSvg } from "./svgReader";
import type { ChartData } from "./types";

const COLORS = { color: () => "#123456", text: "#000", soft: "#000", surface: "#fff", line: "#000" } as unknown as ChartColors;
const DRAWN = 20;
const NAMES = HOSTILE_NAMES.filter(({ length }) => length < 1000);

function drawn(chart: ChartData) {
  const options = chartOptions(chart, { hidden: new Set(), colors: COLORS, widthPx: 800 });
  return readSvg(chartSvg(options, { width: 800, height: 24 * DRAWN + 60 }, "#fff"));
}

it("draws bars of hostile names, and curves with hostile marks", () => {
  for (let from = 0; from < NAMES.length; from += DRAWN) {
    const names = NAMES.slice(from, from + DRAWN);
    const [title = ""] = names;
    const values = names.map((_, at) => at + 1);
    const bars = drawn({ kind: "bar", horizontal: true, categories: names, lines: [{ name: title, values }], categoryTitle: title, value: { title, unit: "us" } });
    expect(actingIn(bars)).toEqual([]);
    const at = names.map((label, x) => ({ x, y: x, label }));
    const curve = drawn({ kind: "line", lines: names.map((name) => ({ name, x: values, y: values })), x: { title, unit: "us" }, y: { title, unit: "bytes" }, marks: at, verticals: at });
    expect(actingIn(curve)).toEqual([]);
  }
});

it("shows names as they are recorded", () => {
  const names = ["<script>x</script>", "a\u202eb", "{a|b}", "{value}"];
  const bars = drawn({ kind: "bar", horizontal: true, categories: names, lines: [{ name: "n", values: [1, 2, 3, 4] }], categoryTitle: "Name", value: { title: "Time", unit: "us" } });
  for (const name of ["<script>x</script>", "a⟨U+202E⟩b", "{a|b}", "{value}"]) expect(bars.texts).toContain(name);
});
