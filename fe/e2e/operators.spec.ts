/** Operators by path and by type, down to their kernels, without leaving the page. */
import { card, drawnChart } from "./tables";
import { expect, test } from "./fixtures";

test("operators by path: forward and backward apart, and the kernels of each", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=operators`);
  await page.getByRole("button", { name: "Path", exact: true }).click();
  await expect(page).toHaveURL(/group_by=path/);
  await expect(await drawnChart(page, "Top 10 operators")).toBeVisible();
  const operators = card(page, "Operators");
  await operators.getByLabel("Filter Name").fill("=/aten::conv2d(13)/aten::convolution/aten::_convolution/aten::cudnn_convolution");
  await expect(operators.getByRole("status")).toContainText("showing 2 of");
  for (const direction of ["forward", "backward"]) {
    await expect(operators.getByRole("gridcell", { name: direction, exact: true })).toBeVisible();
  }
  await operators.getByRole("button", { name: "Open row" }).first().click();
  const kernels = card(page, "Launched work");
  await expect(kernels.getByRole("columnheader", { name: /^Mean/ })).toBeVisible();
  await expect(kernels.getByRole("gridcell", { name: "6", exact: true }).first()).toBeVisible();
});

test("a type opens into its operators, and these into their kernels", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=operator_types`);
  await expect(await drawnChart(page, "Top 8 types")).toBeVisible();
  const types = card(page, "Operator types");
  await expect(types.locator(".grid-row").filter({ hasText: "matrix_product" })).toContainText("63.9");
  await types.getByRole("button", { name: "Open row" }).first().click();
  const operators = card(page, "Operators by path");
  await operators.getByRole("button", { name: "Open row" }).first().click();
  await expect(card(page, "Launched work").getByRole("gridcell", { name: "Yes", exact: true })).toBeVisible();
  await page.getByRole("link", { name: "Show them among all operators" }).click();
  await expect(page).toHaveURL(/view=operators&.*group_by=path/);
  await expect(card(page, "Operators").getByRole("status")).toContainText("showing 52 of 479");
});

test("an operator opens into all it launched, that of inner operators below them", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=operators&operators.filter=name%3Daten::copy_`);
  await card(page, "Operators").getByRole("button", { name: "Open row" }).click();
  const copies = card(page, "Launched work").getByRole("row", { name: /Memcpy HtoD/ });
  await expect(copies.getByRole("gridcell", { name: "11.49", exact: true })).toBeVisible();
  await page.goto(`${standalone.url}#run=h100_bert_small&view=operators&operators.filter=name%3Daten::linear`);
  await card(page, "Operators").getByRole("button", { name: "Open row" }).first().click();
  const work = card(page, "Launched work");
  await expect(work.locator("[role=row][aria-level='1']")).toContainText("aten::addmm");
  await expect(work.locator("[role=row][aria-level='2']")).toHaveCount(4);
  await expect(card(page, "Own kernels by launch")).toHaveCount(0);
});

test("the sixteen times of types, a measure at a time", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=operator_types`);
  const types = card(page, "Operator types");
  await types.getByRole("button", { name: "CPU overhead", exact: true }).click();
  await expect(page).toHaveURL(/times=cpu_overhead/);
  for (const figure of ["Total", "Mean", "Min", "Max"]) await expect(types.getByRole("columnheader", { name: new RegExp(`^CPU Overhead ${figure}`) })).toBeInViewport();
  await expect(types.getByRole("columnheader", { name: /^GPU Total/ })).toHaveCount(0);
});

test("the legend of a share hides its parts", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=overview&folds=devices`);
  const use = card(page, "Tensor Core use");
  await expect(use.locator("[data-fact=tensor_core_efficiency_pct]")).toHaveText("100.0 %");
  const widths = () => use.locator(".split > i").evaluateAll((parts) => parts.map((part) => (part as HTMLElement).style.width));
  expect(await widths()).toHaveLength(3);
  await use.getByRole("button", { name: "Other", exact: true }).click();
  expect(await widths()).toEqual(["100%", "0%"]);
});
