/** Kernels: the calls that launched them, and copies, also of a recording without kernels. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "./fixtures";
import { goTo } from "./pages";
import { serve } from "./servers";
import { card, drawnChart } from "./tables";

test("API calls are a tab, copies a fold below the kernels", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=kernels`);
  await expect(await drawnChart(page, "Top 10 kernels")).toBeVisible();
  await expect(card(page, "Copies and memsets")).toHaveCount(0);
  await page.getByText("Copies and memsets").click();
  await expect(card(page, "Copies and memsets")).toContainText("cudaMemcpyAsync");
  await page.reload();
  await expect(card(page, "Copies and memsets")).toBeVisible();
  await goTo(page, "kernels", "api_calls");
  await expect(card(page, "API calls")).toContainText("cudaLaunchKernelExC");
  await expect(page.getByRole("heading", { name: "Top 10 kernels" })).toHaveCount(0);
  // A link to rows of a table, from a finding, opens its tab or fold.
  await page.goto(`${standalone.url}#run=h100_bert_small&view=kernels&table=copies`);
  await expect(card(page, "Copies and memsets")).toBeInViewport();
});

test("the time of a kernel is visible in every grouping at 1440 px", async ({ guarded: page, standalone }) => {
  await page.setViewportSize({ width: 1440, height: 900 });
  for (const grouping of ["name", "name+operator+launch"]) {
    await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=kernels&group_by=${encodeURIComponent(grouping)}`);
    for (const title of ["Total", "Share", "Mean"]) {
      const header = card(page, "Kernels").getByRole("columnheader", { name: new RegExp(`^${title}`) }).first();
      await expect(header).toBeInViewport({ ratio: 1 });
    }
  }
});

test("a recording of copies without kernels shows them", async ({ guarded: page }) => {
  const folder = mkdtempSync(join(tmpdir(), "copies-"));
  const copy = (ts: number, correlation: number) => [
    { ph: "X", cat: "cuda_runtime", name: "cudaMemcpyAsync", pid: 1, tid: 1, ts, dur: 5, args: { correlation } },
    {
      ph: "X",
      cat: "gpu_memcpy",
      name: "Memcpy HtoD (Pageable -> Device)",
      pid: 0,
      tid: 7,
      ts: ts + 10,
      dur: 20,
      args: { device: 0, stream: 7, correlation, bytes: 1000 },
    },
  ];
  const operator = { ph: "X", cat: "cpu_op", name: "aten::copy_", pid: 1, tid: 1, ts: 0, dur: 300, args: {} };
  const trace = { schemaVersion: 1, traceEvents: [operator, ...copy(10, 1), ...copy(100, 2)] };
  writeFileSync(join(folder, "a.pt.trace.json"), JSON.stringify(trace));
  const server = await serve(folder);
  try {
    await page.goto(`${server.url}#view=kernels`);
    await expect(page.getByRole("alert")).toContainText("No kernel in this trace");
    await expect(card(page, "Copies and memsets")).toContainText("pageable");
    await goTo(page, "kernels", "api_calls");
    await expect(card(page, "API calls")).toContainText("cudaMemcpyAsync");
  } finally {
    await server.stop();
  }
});

test("a kernel that nothing recognizes has a rule to copy, which holds once it is filled in and saved", async ({ guarded: page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const folder = mkdtempSync(join(tmpdir(), "unrecognized-"));
  const host = { ph: "X", pid: 1, tid: 1 };
  const events = [
    { ...host, cat: "cpu_op", name: "lab::op", ts: 0, dur: 40, args: { "External id": 1 } },
    { ...host, cat: "cuda_runtime", name: "cudaLaunchKernel", ts: 10, dur: 5, args: { correlation: 1, "External id": 1 } },
    { ph: "X", cat: "kernel", name: "void lab::exchange<8>(int*)", pid: 0, tid: 7, ts: 30, dur: 50, args: { device: 0, stream: 7, correlation: 1 } },
  ];
  writeFileSync(join(folder, "a.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents: events }));
  const file = join(folder, "rules.toml");
  writeFileSync(file, "");
  const server = await serve(folder, "--rules", file);
  try {
    await page.goto(`${server.url}#view=kernels&table=unrecognized`);
    const unrecognized = card(page, "Unrecognized kernels");
    await expect(unrecognized).toContainText("lab::op");
    await expect(unrecognized).toContainText(`None yet: they are looked for in ${file}`);
    await unrecognized.getByRole("button", { name: "Copy the rule" }).click();
    const rule = await page.evaluate(() => navigator.clipboard.readText());
    expect(rule).toBe(`[[kernel]]\nmatch = 'lab::exchange<'\ncategory = ""\n# tensor-core =    # true or false\n`);
    writeFileSync(file, rule.replace('""', '"communication"'));
    await expect(async () => {
      await page.reload();
      await expect(card(page, "Kernels")).toContainText("Communication", { timeout: 2000 });
    }).toPass();
    await expect(unrecognized).toHaveCount(0);
  } finally {
    await server.stop();
  }
});
