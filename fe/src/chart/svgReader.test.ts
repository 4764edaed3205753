import { expect, it } from "vitest";

import { actingIn, readSvg } from "./svgReader";

it.each(["<svg><g></svg>", "<svg>a & b</svg>", "<svg a=b></svg>", "<svg a=\"<\"></svg>", "<svg>\u0000</svg>", "<svg>\ufffe</svg>", "<svg><!--x--></svg>", "<svg>&x;</svg>"])("refuses %j", (svg) => {
  expect(() => readSvg(svg)).toThrow();
});

it.each(["<svg><script>x</script></svg>", '<svg onload="x"></svg>', '<svg><rect fill="url(http://x)"/></svg>', '<svg><a href="x">y</a></svg>'])("sees what acts in %j", (svg) => {
  expect(actingIn(readSvg(svg))).not.toEqual([]);
});

it("reads attributes and texts", () => {
  const { elements, texts } = readSvg('<svg a="&lt;&quot;"><text>x &amp; y</text></svg>');
  expect(elements[0]?.attributes.get("a")).toBe('<"');
  expect(texts).toEqual(["x & y"]);
});
