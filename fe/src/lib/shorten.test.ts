import { describe, expect, it } from "vitest";

import { shortenApart, shortenMiddle, shortenPath } from "./shorten";

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

it("keeps the last parts of a path, whole where there is room", () => {
  const path = (module: string) => `/BertLMHeadModel_0/BertModel_0/BertEncoder_0/${module}/aten::linear/aten::addmm`;
  expect(shortenPath(path("Linear_25"), 40)).toBe("…/Linear_25/aten::linear/aten::addmm");
  expect(shortenPath(path("Linear_25"), 16)).toBe("…/aten::addmm");
  expect(shortenPath("/aten::add", 10)).toBe("/aten::add");
  expect(shortenPath("/🔥🔥🔥🔥🔥", 4)).toBe("…🔥🔥🔥");
});

describe("several names", () => {
  const functor = (name: string) => `void at::native::vectorized_elementwise_kernel<4, at::native::${name}<float>, at::detail::Array<char*, 3> >(int, at::native::${name}<float>, at::detail::Array<char*, 3>)`;
  const names = [functor("AddFunctor"), functor("MulFunctor"), functor("CUDAFunctor_add"), functor("CUDAFunctor_sub"), "aten::mm", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"];

  it.each([24, 30, 40, 60, 90])("are told apart in %d letters", (length) => {
    const short = shortenApart(names, length);
    expect(new Set(short).size).toBe(names.length);
    for (const [place, text] of short.entries()) {
      expect(Array.from(text).length).toBeLessThanOrEqual(length);
      // Every piece stands in the name, in this order.
      const pattern = text.split("…").map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      expect(names[place]).toMatch(new RegExp(`^${pattern.join(".*")}$`));
    }
  });

  it("shows the words in which they differ", () => {
    const [add, mul] = shortenApart(names, 40);
    expect(add).toContain("AddFunctor");
    expect(mul).toContain("MulFunctor");
  });

  it("are as before where their ends tell them apart", () => {
    expect(shortenApart(["aten::mm", "aten::addmm"], 30)).toEqual(["aten::mm", "aten::addmm"]);
    expect(shortenApart([functor("AddFunctor"), "aten::mm"], 40)[0]).toBe(shortenMiddle(functor("AddFunctor"), 40));
  });

  it("that are the same stay the same", () => {
    const name = functor("AddFunctor");
    expect(shortenApart([name, name], 30)).toEqual([shortenMiddle(name, 30), shortenMiddle(name, 30)]);
  });
});
