import { expect, it } from "vitest";

import { colorOfName, luminance, parseColor, textOn } from "./colors";
import { commandOf, motionOf } from "./keys";

it.each([
  ["#1f5fbf", [31, 95, 191]],
  ["#fff", [255, 255, 255]],
  [" #FFF ", [255, 255, 255]],
  ["rgb(1, 2, 3)", [1, 2, 3]],
  ["nonsense", [128, 128, 128]],
])("the colour %s", (text, color) => {
  expect(parseColor(text)).toEqual(color);
});

it("text on every colour has the contrast of WCAG AA", () => {
  for (const dark of [true, false]) {
    for (let index = 0; index < 500; index++) {
      const color = index % 2 === 0 ? colorOfName(`kernel_${index}`, dark) : ([(index * 37) % 256, (index * 91) % 256, (index * 53) % 256] as const);
      const text = parseColor(textOn(color));
      const [high, low] = [luminance(color), luminance(text)].sort((one, other) => other - one) as [number, number];
      expect((high + 0.05) / (low + 0.05)).toBeGreaterThan(4.5);
    }
  }
});

it("a name has one colour", () => {
  expect(colorOfName("aten::mm", true)).toEqual(colorOfName("aten::mm", true));
  expect(colorOfName("aten::mm", true)).not.toEqual(colorOfName("aten::add", true));
});

it("keys with Ctrl or Alt are the browser's", () => {
  const key = (name: string, ctrlKey = false) => ({ key: name, ctrlKey, metaKey: false, altKey: false });
  expect(motionOf(key("w"))).toBe("zoomIn");
  expect(motionOf(key("W"))).toBe("zoomIn");
  expect(motionOf(key("w", true))).toBeNull();
  expect(commandOf(key("f", true))).toBeNull();
  expect(commandOf(key("n"))).toBe("nextHit");
  expect(commandOf(key("N"))).toBe("previousHit");
});
