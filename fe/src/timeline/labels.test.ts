import { expect, it } from "vitest";

import { Labels, LABEL_PADDING_PX } from "./labels";

const LETTER_PX = 6;
const make = () => {
  let measured = 0;
  const labels = new Labels((text) => ((measured += 1), text.length * LETTER_PX));
  return { labels, count: () => measured };
};

it("a text is never wider than its slice", () => {
  const { labels } = make();
  const name = "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>";
  for (let width = 10; width < 700; width += 7) {
    const text = labels.fit(name, width);
    if (text !== null) expect(text.length * LETTER_PX).toBeLessThanOrEqual(width - 2 * LABEL_PADDING_PX);
  }
  expect(labels.fit(name, 2000)).toBe(name.replace("void ", ""));
});

it("a name is measured once, however often it is drawn", () => {
  const { labels, count } = make();
  labels.fit("aten::mm", 200);
  const once = count();
  for (let time = 0; time < 100; time++) labels.fit("aten::mm", 200 + time);
  expect(count()).toBe(once);
});

it("a narrow step shows its number", () => {
  const { labels } = make();
  expect(labels.fit("ProfilerStep#17", 40)).toBe("#17");
  expect(labels.fit("ProfilerStep#17", 400)).toBe("ProfilerStep#17");
});

it("marks of text direction are shown, not applied", () => {
  expect(make().labels.fit("gemm\u202ecba", 400)).toBe("gemm⟨U+202E⟩cba");
});

it("control characters are blanks", () => {
  expect(make().labels.fit("a\u0000\nb", 400)).toBe("a b");
});
