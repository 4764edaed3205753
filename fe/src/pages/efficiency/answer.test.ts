import { expect, test } from "vitest";

import type { Fact, View } from "../../api/types";
import { answer } from "./answer";

const fact = (key: string, value: number | string | null, scope: string | null = null) => ({ key, value, scope, title: key, unit: key.endsWith("_pct") ? "pct" : key.endsWith("_us") ? "us" : null, help: "", reason: null }) as unknown as Fact;

function view(facts: Fact[], rows: (string | number | null)[][] = []): View {
  const columns = ["name", "recoverable_us", "bound"].map((key) => ({ key }));
  return { facts, tables: { operators: { columns, rows } }, notes: [], series: {} } as unknown as View;
}

test("the answer names the share of the peak, the possible saving, and where most of it is", () => {
  const facts = [fact("mfu_pct", 38.25, "GPU 0"), fact("peak_tflops", 989.4, "GPU 0"), fact("peak_type", "bfloat16", "GPU 0"), fact("recoverable_us", 2500)];
  const text = answer(view(facts, [["aten::mm", 1500, "memory"]])).join(" ");
  expect(text).toContain("38.3 %");
  expect(text).toContain("989 TFLOP/s the device can compute (bfloat16)");
  expect(text).toContain("2.50 ms");
  expect(text).toContain("aten::mm: 1.50 ms, memory-bound");
});

test("the mean of several GPUs is text, and empty where it is unknown", () => {
  const facts = [fact("mfu_pct", 10, "GPU 0"), fact("mfu_pct", 30, "GPU 1"), fact("mfu_pct", 20, "mean")];
  expect(answer(view(facts)).join(" ")).toContain("20.0 %");
  expect(answer(view([fact("mfu_pct", null)]))).toEqual([]);
});

test("a lower bound is said to be one", () => {
  const text = answer(view([fact("mfu_pct", null, "GPU 0"), fact("mfu_min_pct", 0.1, "GPU 0")])).join(" ");
  expect(text).toContain("The model reaches at least 0.1 % of what the device can compute.");
});

test("a large share of unknown work is mentioned", () => {
  expect(answer(view([fact("time_without_work_pct", 40)])).join(" ")).toContain("40.0 %");
  expect(answer(view([fact("time_without_work_pct", 2)]))).toEqual([]);
});
