import { expect, it } from "vitest";

import type { Fact, Scalar, Table } from "../../api/types";
import { PLAIN_COLUMN, PLAIN_TABLE } from "../../lib/columns";
import { checksAnswer, gpusAnswer, stepsAnswer, systemAnswer } from "./foldAnswers";

const table = (keys: readonly string[], rows: readonly (readonly Scalar[])[]): Table => ({
  title: "",
  help: "",
  columns: keys.map((key) => ({ key, title: key === "gpu" ? "NPU" : key, type: "string", unit: null, help: "", ...PLAIN_COLUMN })),
  rows: rows.map((row) => [...row]),
  row_count: rows.length,
  null_reasons: {},
  sort: "",
  ...PLAIN_TABLE,
});

const checks = (...outcomes: string[]) => table(["code", "outcome"], outcomes.map((outcome, index) => [`check${index}`, outcome]));
const fact = (key: string, value: Scalar, unit: Fact["unit"] = null): Fact => ({ key, title: key, value, unit, scope: null, help: "", reason: null });

it("counts issues, passed checks and checks without enough data", () => {
  expect(checksAnswer(checks("issue", "not enough data", "passed", "passed"), ["check0"])).toBe("1 issue, 2 passed, 1 needs data this recording lacks");
  expect(checksAnswer(checks("issue", "issue", "not enough data", "not enough data"), ["check0", "check1"])).toBe("2 issues, 2 need data this recording lacks");
});

it("separates issues from findings where some are listed with others", () => {
  expect(checksAnswer(checks("issue", "issue", "issue", "passed"), ["check2", "check0"])).toBe("3 issues in 2 findings, 1 passed");
  expect(checksAnswer(checks("issue", "issue"), ["check1"])).toBe("2 issues in 1 finding");
  // One that only says where the time goes is no issue.
  expect(checksAnswer(checks("issue"), ["where_time_goes", "check0"])).toBe("1 issue");
});

it("says how long steps are", () => {
  expect(stepsAnswer(table(["total_us"], [[1500]]))).toBe("1 step of 1.50 ms");
  expect(stepsAnswer(table(["total_us"], [[1500], [2500], [2000]]))).toBe("3 steps of 1.50 ms to 2.50 ms");
});

it("says how many devices are used, of a job only how many it uses itself", () => {
  const facts = [fact("gpu_count", 4), fact("gpu_utilization_used_mean_pct", 55.49, "pct")];
  const gpus = table(["gpu"], [[0]]);
  expect(gpusAnswer({ tables: { gpus }, facts: [...facts, fact("gpu_utilization_mean_pct", 13.9, "pct")] })).toBe("1 of 4 used, 55.5 % busy");
  expect(gpusAnswer({ tables: { gpus }, facts: [...facts, fact("gpu_utilization_mean_pct", null, "pct")] })).toBe("1 used, 55.5 % busy");
  expect(gpusAnswer({ tables: { gpus: table(["gpu"], []) }, facts: [] })).toBe("no NPU work recorded");
});

it("names what is known of the system", () => {
  expect(systemAnswer([fact("framework", "PyTorch 2.4"), fact("gpu_names", "H100"), fact("cpu_model", null)])).toBe("H100 · PyTorch 2.4");
});
