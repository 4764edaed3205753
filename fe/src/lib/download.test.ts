import { expect, it } from "vitest";

import { safeFileName } from "./download";
import { HOSTILE_NAMES } from "./hostileNames";

it.each([
  ["kernels_kernels_run_rank0.csv", "kernels_kernels_run_rank0.csv"],
  ["operators_aten::mm Launched kernels_run.json", "operators_aten_mm_Launched_kernels_run.json"],
  ["../../etc/passwd.csv", "etc_passwd.csv"],
  ["\u202egnp.exe\u0000 <img>.png", "gnp.exe_img.png"],
  ["漢字.csv", "export.csv"],
  ["", "export"],
  ["con.csv", "_con.csv"],
])("%j is saved as %j", (name, saved) => {
  expect(safeFileName(name)).toBe(saved);
});

it("truncates a long name before the names of its recording", () => {
  const saved = safeFileName(`operators_${"x".repeat(200)}_run_rank0_default.csv`);
  expect(saved).toMatch(/^operators_x+-x+_run_rank0_default\.csv$/);
  expect(saved).toHaveLength(120);
});

it("retains the extension of a long name", () => {
  const saved = safeFileName(`${"x".repeat(500)}.csv`);
  expect([saved.length, saved.endsWith("x.csv")]).toEqual([120, true]);
});

it("makes a file name of any name", () => {
  for (const name of HOSTILE_NAMES) expect(safeFileName(`${name}.csv`)).toMatch(/^(?!con\.|nul\.|com\d\.)[A-Za-z0-9_][A-Za-z0-9._-]{0,115}\.csv$/i);
});
