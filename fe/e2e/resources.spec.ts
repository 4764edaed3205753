/** What a recorder sampled and what its files tell: resources and efficiency of a recording of MindSpore. */
import { join } from "node:path";

import { contrastFaults, faults, switchToDark } from "./audit";
import { expect, test } from "./fixtures";
import { goTo, railOf } from "./pages";
import { SAMPLES, serve } from "./servers";
import { card, drawnChart } from "./tables";

const RECORDING = join(SAMPLES, "..", "tests", "data", "mindspore_r1", "profiler");

test("curves, tables and files of resources and efficiency", async ({ guarded: page }) => {
  const server = await serve(RECORDING);
  await page.goto(`${server.url}#worker=rank0&view=resources`);
  await expect(await drawnChart(page, "Host: use")).toBeVisible();
  await expect(card(page, "Measurements").getByRole("row", { name: /CPU user host/ })).toContainText("20");
  expect(await faults(page), "resources").toEqual([]);
  await goTo(page, "efficiency", "operators");
  await expect(page.locator(".answer")).toContainText("3.8 % of the peak");
  await expect(card(page, "FLOPs of scopes")).toContainText("flops_0.txt");
  await switchToDark(page);
  expect([...(await faults(page)), ...(await contrastFaults(page))], "efficiency").toEqual([]);
  await server.stop();
});

test("a recording without samples says so", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&view=resources`);
  await expect(page.getByRole("main")).toContainText("holds no samples of the host or devices");
  await expect(railOf(page).getByText("Host & Data")).toHaveCount(0);
  await railOf(page).getByRole("button", { name: /^\d more need data this recording lacks$/ }).click();
  await expect(railOf(page)).toContainText("Host & Data");
});
