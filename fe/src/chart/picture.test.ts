/** A picture of boxes as SVG: names stay text, labels fit. */
import { beforeEach, expect, it, vi } from "vitest";

import { HOSTILE_NAMES } from "../lib/hostileNames";
import { pictureSvg } from "./picture";
import { actingIn, readSvg } from "./svgReader";

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

it("is well-formed and holds texts and boxes alone, whatever the names are", () => {
  const boxes = HOSTILE_NAMES.map((text, at) => ({ x: 0, y: 20 * at, width: 600, height: 20, fill: "red", text }));
  const picture = readSvg(pictureSvg({ title: HOSTILE_NAMES.join(""), width: 648, height: 20, boxes }));
  expect(actingIn(picture)).toEqual([]);
  expect(picture.texts.slice(1, 4)).toEqual(HOSTILE_NAMES.slice(0, 3));
});

it("shortens labels to their boxes, and leaves out those without room", () => {
  const labels = [...svg.matchAll(/<text[^>]*>([^<]*)/g)].map(([, label]) => label);
  expect(labels).toHaveLength(3);
  expect(labels[2]?.length).toBeLessThanOrEqual(5);
});
