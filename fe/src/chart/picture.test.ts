/** A picture of boxes as SVG: names stay text, labels fit. */
import { beforeEach, expect, it, vi } from "vitest";

import { pictureSvg } from "./picture";

vi.mock("./colors", () => ({ chartColors: () => ({ surface: "#fff", text: "#111" }) }));

const HOSTILE = '</text><script>alert(1)</script>"\u202e';
let svg = "";

beforeEach(() => {
  const box = { y: 0, height: 20, fill: "rgb(1, 2, 3)" };
  const boxes = [
    { ...box, x: 0, width: 600, text: HOSTILE },
    { ...box, x: 600, width: 40, text: "aten::convolution" },
    { ...box, x: 640, width: 8, text: "x" },
  ];
  svg = pictureSvg({ title: HOSTILE, width: 648, height: 20, boxes });
});

it("is XML in which no name acts", () => {
  expect(svg).not.toContain("<script");
  expect(svg).toContain("&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot;⟨U+202E⟩");
  expect(svg.match(/<rect/g)).toHaveLength(4);
});

it("shortens labels to their boxes, and leaves out those without room", () => {
  const labels = [...svg.matchAll(/<text[^>]*>([^<]*)/g)].map(([, label]) => label);
  expect(labels).toHaveLength(3);
  expect(labels[2]?.length).toBeLessThanOrEqual(5);
});
