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
  await expect(page.getByRole("main")).toContainText("Its files contain: data pipeline, queue sizes.");
  await page.goto(`${server.url}#run=profiler&worker=rank0&view=shapes`);
  await expect(card(page, "Operators")).toContainText("GetNext-op7");
  await server.stop();
});

test("data and shapes of a timeline", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw0&view=data`);
  await expect(card(page, "Summary")).toContainText("67.8 %");
  await expect(card(page, "Steps that waited")).toContainText("4 rows");
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=shapes`);
  await expect(card(page, "Operator types")).toContainText("aten::convolution_backward");
});
