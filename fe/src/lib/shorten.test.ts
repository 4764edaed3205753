import { describe, expect, it } from "vitest";

import { shortenDistinct, shortenMiddle, shortenPath } from "./shorten";

it("retains both ends and exactly the length", () => {
  const name = "void at::native::elementwise_kernel<128, 4>(int)";
  const short = shortenMiddle(name, 20);
  expect(Array.from(short)).toHaveLength(20);
  const [head = "", tail = ""] = short.split("…");
  expect(name.startsWith(head) && name.endsWith(tail) && head.length > tail.length && tail.length > 0).toBe(true);
});

it("does not change a text that fits", () => {
  expect(shortenMiddle("aten::add", 9)).toBe("aten::add");
});

it("does not split a character", () => {
  expect(shortenMiddle("🔥🔥🔥🔥🔥🔥", 4)).toBe("🔥🔥…🔥");
});

describe("a path", () => {
  const short = (path: string, length: number) => {
    const shown = shortenPath(path, length);
    expect(Array.from(shown).length).toBeLessThanOrEqual(length);
    return shown;
  };
  const attention = "/Bert_0/Encoder_0/Attention_3/aten::scaled_dot_product_attention/aten::_flash_attention_forward";

  it("retains its last parts from a module on", () => {
    expect(short(attention, 95)).toBe(attention);
    expect(short(attention, 90)).toBe("…/Encoder_0/Attention_3/aten::scaled_dot_product_attention/aten::_flash_attention_forward");
    expect(short("/Bert_0/Linear_25/aten::linear/aten::addmm", 40)).toBe("…/Linear_25/aten::linear/aten::addmm");
    expect(short("/usr/lib/python3/torch/nn/linear.py(116): forward", 30)).toBe("…/nn/linear.py(116): forward");
  });

  it("retains the module and the operator where there is no room for the parts between", () => {
    expect(short(attention, 50)).toBe("…/Attention_3/…/aten::_flash_attention_forward");
    expect(short("/Linear_2/AddmmBackward0/aten::mm", 24)).toBe("/Linear_2/…/aten::mm");
  });

  it("retains its first part where no module encloses the operators", () => {
    const convolution = (number: number) => `/aten::conv2d(${number})/aten::convolution/aten::_convolution/aten::cudnn_convolution`;
    expect(short(convolution(13), 45)).toBe("/aten::conv2d(13)/…/aten::cudnn_convolution");
    expect(short(convolution(13), 64)).toBe("/aten::conv2d(13)/…/aten::_convolution/aten::cudnn_convolution");
  });

  it("is shortened in the middle where even that is too long", () => {
    expect(short(attention, 20)).toContain("…");
    expect(short("/🔥🔥🔥🔥🔥", 4)).toBe("/🔥…🔥");
    expect(short("/aten::linear/aten::addmm", 12)).toContain("…");
  });
});

describe("several names", () => {
  const functor = (name: string) => `void at::native::vectorized_elementwise_kernel<4, at::native::${name}<float>, at::detail::Array<char*, 3> >(int, at::native::${name}<float>, at::detail::Array<char*, 3>)`;
  const names = [functor("AddFunctor"), functor("MulFunctor"), functor("CUDAFunctor_add"), functor("CUDAFunctor_sub"), "aten::mm", "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"];

  it.each([24, 30, 40, 60, 90])("are distinct in %d letters", (length) => {
    const short = shortenDistinct(names, length);
    expect(new Set(short).size).toBe(names.length);
    for (const [index, text] of short.entries()) {
      expect(Array.from(text).length).toBeLessThanOrEqual(length);
      // Every piece is in the name, in this order.
      const pattern = text.split("…").map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
      expect(names[index]).toMatch(new RegExp(`^${pattern.join(".*")}$`));
    }
  });

  it("shows the words in which they differ", () => {
    const [add, mul] = shortenDistinct(names, 40);
    expect(add).toContain("AddFunctor");
    expect(mul).toContain("MulFunctor");
  });

  it("are shortened as usual where their ends differ", () => {
    expect(shortenDistinct(["aten::mm", "aten::addmm"], 30)).toEqual(["aten::mm", "aten::addmm"]);
    expect(shortenDistinct([functor("AddFunctor"), "aten::mm"], 40)[0]).toBe(shortenMiddle(functor("AddFunctor"), 40));
  });

  it("that are equal stay equal", () => {
    const name = functor("AddFunctor");
    expect(shortenDistinct([name, name], 30)).toEqual([shortenMiddle(name, 30), shortenMiddle(name, 30)]);
  });
});
