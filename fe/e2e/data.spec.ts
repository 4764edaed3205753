/** The pages Data and Shapes: what waited, a recorded pipeline as a picture, files without any event. */
import { join } from "node:path";

import { faults } from "./audit";
import { expect, test } from "./fixtures";
import { SAMPLES, serve } from "./servers";
import { card } from "./tables";

test("data: a recorded pipeline with its bottleneck, of files without events", async ({ guarded: page }) => {
  const server = await serve(join(SAMPLES, "..", "tests", "data", "mindspore_r1"));
  await page.goto(`${server.url}#run=minddata_pipelines&worker=rank0&view=data`);
  await expect(page.getByRole("region", { name: "Findings" })).toContainText("Shuffle (4) is the bottleneck");
  const drawn = page.getByRole("figure", { name: "Data pipeline, diagram" });
  await expect(drawn.locator(".pipeline-operation.slow")).toContainText("Shuffle (4)");
  await expect(drawn.locator(".pipeline-queue")).toHaveText(["31.3 % full", "31.3 % full", "93.8 % full", "15.6 % full"]);
  expect(await faults(page)).toEqual([]);
  await page.goto(`${server.url}#run=minddata_pipelines&worker=rank0&view=overview`);
  await expect(page.getByRole("main")).toContainText("Its files contain: data pipeline, queue sizes. See Host & Data: Data loading.");
  await page.goto(`${server.url}#run=profiler&worker=rank0&view=shapes`);
  await expect(card(page, "Operators")).toContainText("GetNext-op7");
  await server.stop();
});

test("a recording of MindSpore: the parts of MindSpore Insight, each a click from its page", async ({ guarded: page }) => {
  const server = await serve(join(SAMPLES, "..", "tests", "data", "mindspore_r1"));
  await page.goto(`${server.url}#run=profiler&worker=rank0&view=overview`);
  const parts = card(page, "As in MindSpore Insight");
  // The last row of step_trace_raw_0_detail_time.csv: 130 456.11 µs, of them 90 353.60 between steps.
  await expect(parts.getByRole("region", { name: "Step trace" })).toContainText(/Mean step\s*130 ms/);
  await expect(parts.getByRole("region", { name: "Step trace" })).toContainText("90.4 ms · 69.3 %");
  await expect(parts.getByRole("region", { name: "Timeline" })).toContainText(/Streams\s*2/);
  expect(await faults(page)).toEqual([]);
  await parts.getByRole("link", { name: "Assistant" }).click();
  await expect(card(page, "Findings")).toBeFocused();
  await parts.getByRole("link", { name: "Step trace" }).click();
  const mean = page.getByRole("figure", { name: "Mean step, as recorded" });
  await expect(mean).toContainText("Forward and Backward");
  await mean.getByRole("combobox").selectOption("2");
  await expect(page.getByRole("figure", { name: "Step 2, as recorded" })).toContainText(/Interval\s*90.4 ms.*Tail/);
  await page.goto(`${server.url}#run=profiler&worker=rank1&view=overview`);
  await parts.getByRole("link", { name: "Operators" }).click();
  await expect(card(page, "Operator types as recorded")).toContainText("MatMul");
  await page.goto(`${server.url}#run=profiler&worker=rank1&view=operators`);
  await page.getByRole("main").getByRole("link", { name: "Operators: Type" }).click();
  await expect(card(page, "Operator types as recorded")).toBeVisible();
  expect(await faults(page)).toEqual([]);
  await server.stop();
});

test("a timeline of MindSpore: boundaries are its operators, and their scopes are levels", async ({ guarded: page }) => {
  const server = await serve(join(SAMPLES, "..", "tests", "data", "mindspore_r1"));
  await page.goto(`${server.url}#run=run_1_excerpt&view=phases`);
  await page.getByText("Phase boundaries").click();
  const begin = page.getByLabel("Forward begins with");
  await begin.fill("Mul-op3");
  await expect(page.locator("datalist option[value='Mul-op35']")).toHaveCount(1);
  await begin.fill("Mul-op35");
  await begin.press("Enter");
  const end = page.getByLabel("Backward ends with");
  await end.fill("Concat-op196");
  await end.press("Enter");
  const computed = page.getByRole("figure", { name: "Mean step", exact: true });
  await computed.getByRole("button", { name: "Step 2" }).click();
  // From 284 360.73 to Mul-op35 at 285 636.53, on to the end of Concat-op196 at 402 528.16 µs.
  const second = page.getByRole("figure", { name: "Step 2", exact: true });
  await expect(second).toContainText(/Interval\s*1\.28 ms/);
  await expect(second).toContainText(/Forward and Backward\s*117 ms/);
  await expect(page.getByRole("figure", { name: "Step 2, as recorded" })).toContainText(/Forward and Backward\s*118 ms/);
  expect(await faults(page)).toEqual([]);
  await page.goto(`${server.url}#run=run_1_excerpt&view=timeline`);
  await page.getByRole("button", { name: "Levels ▾" }).click();
  await page.getByLabel("Scopes of operators shown").selectOption("3");
  await expect(page.locator(".tl-heads")).toContainText("Scopes");
  await expect(page).toHaveURL(/levels=scopes(:|%3A)3/);
  await server.stop();
});

test("data and shapes of a timeline", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw0&view=data`);
  await expect(card(page, "Summary")).toContainText("67.8 %");
  await expect(card(page, "Steps that waited")).toContainText("4 rows");
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=shapes`);
  await expect(card(page, "Operator types")).toContainText("aten::convolution_backward");
});
