/** The same pages without TensorBoard. */
import { card, columnTexts, exactValues, exported, header } from "./tables";
import { expect, test } from "./fixtures";

const HASH = "#run=kineto_resnet50_nw0";

test("the overview answers first", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  await expect(page.locator('[data-fact="average_step_us"]')).toHaveText("177.59 ms");
  await expect(page.locator('[data-fact="gpu_utilization_pct"]')).toHaveText("55.5 %");
  await expect(card(page, "Average step").getByRole("row", { name: /^DataLoader/ })).toContainText("33.4 %");
  await expect(card(page, "GPUs")).toContainText("Tesla V100-DGXS-32GB");
});

test("a range dragged over the steps becomes the selection of every view", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  const canvas = page.getByRole("img", { name: "Chart: Step time" }).locator("canvas").first();
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("no chart");
  const at = (share: number) => [box.x + 64 + (box.width - 80) * share, box.y + 100] as const;
  await page.mouse.move(...at(0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.45), { steps: 6 });
  await page.mouse.up();
  // The page draws itself again whenever the server is asked for runs: the zoom must stay.
  await page.waitForResponse(/\/api\/runs$/);
  await expect(page.getByRole("button", { name: "Reset zoom" })).toBeVisible();
  await page.getByRole("button", { name: "Use this range as selection" }).click();
  await expect(page.locator(".chip")).toHaveText(/Steps 6:7/);
  await expect(page.locator('[data-fact="step_count"]')).toHaveText("2");
  await page.getByRole("link", { name: "Operators" }).click();
  await expect(page.locator(".chip")).toHaveText(/Steps 6:7/);
  await page.getByRole("button", { name: "Remove the selection" }).click();
  await expect(page.locator(".chip")).toHaveCount(0);
});

test("kernels: filters combine, yes and no, ranges with units, nothing left, and clear", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&view=kernels`);
  const table = card(page, "Kernels");
  await expect(table.getByRole("status")).toHaveText("67 rows");
  await table.getByLabel("Filter Total").fill("20..50");
  const totals = await exactValues(table, 3);
  expect(totals.length).toBeGreaterThan(3);
  for (const total of totals) expect(total >= 20_000 && total <= 50_000).toBe(true);
  await table.getByLabel("Filter Total").fill(">20ms");
  await table.getByLabel("Filter Tensor Cores Used").selectOption("yes");
  await expect(table.getByText("No row passes these filters.")).toBeVisible();
  await table.getByRole("button", { name: "Clear filters" }).click();
  await expect(table.getByRole("status")).toHaveText("67 rows");
  await expect(table.getByLabel("Filter Total")).toHaveValue("");
  await table.getByLabel("Filter Total").fill("many");
  await expect(table.getByLabel("Filter Total")).toHaveAttribute("aria-invalid", "true");
});

test("an operator opens to its kernels and call stacks", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=operators`);
  const table = card(page, "Operators");
  await table.getByRole("row", { name: /aten::addmm/ }).getByRole("button", { name: "Open row" }).click();
  await expect(page.getByRole("heading", { name: "Launched kernels" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "Call stacks" })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Launched kernels" })).toBeVisible();
});

test("columns hide and come back, rows are copied, JSON holds exact values", async ({ guarded: page, standalone }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${standalone.url}${HASH}&view=operators`);
  const table = card(page, "Operators");
  await table.getByRole("button", { name: /^Columns/ }).click();
  await table.getByLabel(/^Host Self/).uncheck();
  await page.keyboard.press("Escape");
  await expect(table.getByRole("columnheader", { name: /^Host Self/ })).toHaveCount(0);
  const json = JSON.parse((await exported(page, table, "Shown rows as JSON")).text) as Record<string, unknown>[];
  expect(json).toHaveLength(76);
  expect(json[0]).toMatchObject({ name: "aten::cudnn_convolution_backward_weight", calls: 318, device_self_us: 142461 });
  expect(json[0]).not.toHaveProperty("host_self_us");

  await table.getByRole("table").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+c");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("aten::cudnn_convolution_backward_weight");
});

test("sorting by two columns", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&view=operators`);
  const table = card(page, "Operators");
  await (await header(table, "Calls")).getByRole("button").click();
  await (await header(table, "Name")).getByRole("button").click({ modifiers: ["Shift"] });
  await expect(page).toHaveURL(/operators\.sort=-calls,name/);
  const names = await columnTexts(table, 0);
  const calls = await exactValues(table, 1);
  for (let row = 1; row < names.length; row++) {
    if (calls[row] === calls[row - 1]) expect((names[row - 1] ?? "").toLowerCase() <= (names[row] ?? "").toLowerCase()).toBe(true);
  }
});

test("a name is found in every view", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  await expect(page.getByLabel("Find a name in every view")).toBeVisible();
  await expect(page.getByRole("link", { name: "Operators" })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("batch_norm");
  await page.getByRole("button", { name: /^Operators: \d+ rows/ }).click();
  await expect(card(page, "Operators").getByLabel("Search Operators")).toHaveValue("batch_norm");
});

test("the theme is remembered", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url);
  await page.getByRole("button", { name: "Switch to the dark theme" }).click();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
