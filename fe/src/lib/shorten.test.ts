import { expect, it } from "vitest";

import { shortenMiddle } from "./shorten";

it("keeps both ends and exactly the length", () => {
  const name = "void at::native::elementwise_kernel<128, 4>(int)";
  const short = shortenMiddle(name, 20);
  expect(Array.from(short)).toHaveLength(20);
  const [head = "", tail = ""] = short.split("…");
  expect(name.startsWith(head) && name.endsWith(tail) && head.length > tail.length && tail.length > 0).toBe(true);
});

it("leaves what fits", () => {
  expect(shortenMiddle("aten::add", 9)).toBe("aten::add");
});

it("does not cut a character in two", () => {
  expect(shortenMiddle("🔥🔥🔥🔥🔥🔥", 4)).toBe("🔥🔥…🔥");
});
