/** The same pages without TensorBoard. */
import { readFileSync } from "node:fs";

import { card, columnTexts, drawnChart, exactValues, exported, header } from "./tables";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";

const HASH = "#run=kineto_resnet50_nw0";

test("the overview answers first", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&folds=devices,system,guidance`);
  await expect(page.locator(".answer")).toHaveText("One of 4 GPUs is used, and is busy 55.5 % of an average step of 178 ms; 33.4 % of the step is spent loading data.");
  await expect(card(page, "Average step")).toContainText("178 ms, mean of 6 steps");
  await expect(card(page, "Average step").getByRole("listitem").filter({ hasText: "DataLoader" })).toContainText("33.4 %");
  await expect(card(page, "Average step")).toContainText("Longest gap: 69.1 ms in step 5, 99.4 % DataLoader");
  await expect(page.locator('[data-fact="gpu_utilization_pct"]')).toHaveText("55.5 %");
  await expect(card(page, "GPUs")).toContainText("Tesla V100-DGXS-32GB");
  // The dashboard: the same time seen from the GPU, and from all that are visible.
  await expect(card(page, "GPU utilization").getByRole("row", { name: /^GPU 0/ })).toContainText("55.5 %");
  await expect(card(page, "GPU utilization").getByRole("row", { name: /^Mean of 4/ })).toContainText("13.9 %");
  await expect(card(page, "Resource breakdown").getByRole("row", { name: /^Other kernels/ })).toContainText("55.5 %");
  await expect(card(page, "Kernels by class")).toContainText("Copies and memsets");
  await expect(card(page, "System")).toContainText("Not recorded.");
  await expect(card(page, "Guidance").getByRole("link", { name: "torch.compile" })).toHaveAttribute("rel", "noreferrer");
});

test("a range dragged over the steps becomes the selection of every view", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&folds=steps`);
  const canvas = await drawnChart(page, "Step time");
  await canvas.scrollIntoViewIfNeeded();
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("no chart");
  const at = (share: number) => [box.x + 64 + (box.width - 80) * share, box.y + 100] as const;
  await page.mouse.move(...at(0.2));
  await page.mouse.down();
  await page.mouse.move(...at(0.45), { steps: 6 });
  await page.mouse.up();
  await expect(page.locator(".chip")).toHaveText(/Steps 6–7/);
  await expect(card(page, "Average step")).toContainText("mean of 2 steps");
  await goTo(page, "operators");
  await expect(page.locator(".chip")).toHaveText(/Steps 6–7/);
  await page.getByRole("button", { name: "Remove the selection" }).click();
  await expect(page.locator(".chip")).toHaveCount(0);
});

test("steps are typed as people write them; what is not understood is answered under the field", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  await page.getByTitle("Choose steps or a time range").click();
  const field = page.getByRole("textbox", { name: "Steps" });
  await field.fill("6 to x");
  await field.press("Enter");
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await expect(page.locator(".selection-form .problem")).toContainText("'6 to x' is not understood; write 5, 3-5");
  expect(page.url()).not.toContain("steps=");
  await expect(page.locator(".chip")).toHaveCount(0);
  for (const [text, shown, address] of [["6-7", "Steps 6–7", "6:7"], ["6..8", "Steps 6–8", "6:8"], ["6,8", "Steps 6,8", "6,8"], ["last 3", "Steps 8–10", "8:10"]] as const) {
    await field.fill(text);
    await field.press("Enter");
    await expect(page.locator(".chip")).toHaveText(shown);
    expect(decodeURIComponent(page.url())).toContain(`steps=${address}`);
    await page.getByTitle("Choose steps or a time range").click();
  }
  await field.fill("all");
  await field.press("Enter");
  await expect(page.locator(".chip")).toHaveCount(0);
});

test("kernels: filters combine, yes and no, ranges with units, no match, and clear", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&view=kernels`);
  const table = card(page, "Kernels");
  await expect(table.getByRole("status")).toHaveText("67 rows");
  await table.getByLabel("Filter Total").fill("20..50");
  await expect(table.getByRole("status")).toHaveText(/^showing \d of 67$/);
  const totals = await exactValues(table, 3);
  expect(totals.length).toBeGreaterThan(3);
  for (const total of totals) expect(total >= 20_000 && total <= 50_000).toBe(true);
  await table.getByLabel("Filter Total").fill(">20ms");
  await table.getByLabel("Filter Tensor Cores Used").selectOption("yes");
  await expect(table.getByText("No row matches the filter.")).toBeVisible();
  await table.getByRole("button", { name: "Clear filters" }).click();
  await expect(table.getByRole("status")).toHaveText("67 rows");
  await expect(table.getByLabel("Filter Total")).toHaveValue("");
  await table.getByLabel("Filter Total").fill(">20ms");
  await expect(table.getByRole("status")).not.toHaveText("67 rows");
  await table.getByLabel("Filter Total").fill("many");
  await expect(table.getByLabel("Filter Total")).toHaveAttribute("aria-invalid", "true");
  await expect(table.getByRole("status")).toHaveText("67 rows");
});

test("a filter on an unknown column is reported, and the others apply", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&view=operators&operators.filter=gone%3D1;calls%3E300`);
  const table = card(page, "Operators");
  await expect(table.getByRole("alert")).toContainText("Unknown column “gone”");
  await expect(table.getByRole("status")).toHaveText("showing 27 of 76");
});

test("an operator opens to its kernels and call stacks", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=operators`);
  const table = card(page, "Operators");
  await table.getByRole("row", { name: /aten::addmm/ }).getByRole("button", { name: "Open row" }).click();
  await expect(page.getByRole("heading", { name: "Launched work" })).toBeVisible();
  await expect(page.getByRole("heading", { name: /^Call stack of/ })).toBeVisible();
  await page.reload();
  await expect(page.getByRole("heading", { name: "Launched work" })).toBeVisible();
});

test("columns are hidden and shown, rows are copied, JSON has exact values", async ({ guarded: page, standalone }) => {
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

  await table.getByRole("treegrid").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Control+c");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("aten::cudnn_convolution_backward_weight");
});

test("the first click sorts by the largest, whatever the order of the server", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&view=operators`);
  const table = card(page, "Operators");
  const title = await header(table, "Host Self");
  await title.getByRole("button").click();
  await expect(page).toHaveURL(/operators\.sort=-host_self_us$/);
  await expect(title).toHaveAttribute("aria-sort", "descending");
  await title.getByRole("button").click();
  await expect(page).toHaveURL(/operators\.sort=host_self_us$/);
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

test("the search of the bar leads to the best hit, says where each is, and ends with the timeline", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  const field = page.getByLabel("Find a name in every view");
  await expect(page.getByRole("link", { name: "Operators" })).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("batch_norm");
  const hits = page.getByRole("listbox", { name: "Hits" }).getByRole("option");
  await expect(hits.first()).toHaveText("aten::batch_normOperator");
  await expect(hits.filter({ hasText: /^All \d+ operators with “batch_norm”$/ })).toBeVisible();
  await expect(hits.last()).toHaveText("Search the timeline for “batch_norm”Every event");
  await page.keyboard.press("ArrowDown");
  await expect(hits.nth(1)).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("ArrowUp");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/view=operators&.*operators\.filter=name%3Daten::batch_norm/);
  await expect(card(page, "Operators").getByRole("status").first()).toHaveText(/^showing 1 of/);

  // Enter before any answer has arrived waits for the best one.
  await field.fill("cudaLaunchKernel");
  await field.press("Enter");
  await expect(page).toHaveURL(/view=kernels&table=api_calls/);
  await expect(card(page, "API calls").getByRole("status").first()).toHaveText(/^showing 1 of/);
  await field.fill("step 7");
  await field.press("Enter");
  await expect(page.locator(".chip")).toHaveText("Step 7");
  await expect(page).toHaveURL(/view=kernels/);
  await field.fill("idle");
  await field.press("Enter");
  await expect(page).toHaveURL(/view=idle/);
  await field.fill("no such name at all");
  await field.press("Enter");
  await expect(page).toHaveURL(/view=timeline&find=no%20such%20name%20at%20all/);
});

test("a number with a quality note has a mark that links to the note", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=operators`);
  await (await header(card(page, "Operators"), "Device Self")).getByRole("button", { name: /^Note on/ }).click();
  await expect(page.locator(".notes li:focus")).toContainText("Launches whose device event is not in the file");
});

test("a time range is typed, and removed", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=memory&tab=allocations`);
  const events = card(page, "Memory events").getByRole("status");
  await expect(events).toHaveText(/^1.580 rows$/);
  await page.getByRole("button", { name: "Whole trace" }).click();
  await expect(page.getByText("This trace has steps 2 to 6.")).toBeVisible();
  await expect(page.getByLabel("Steps")).toHaveAttribute("placeholder", "2 or 2-6");
  // Counted from the beginning of the recording, which is 4369105438793.113 in trace time.
  await page.getByLabel("From, ms").fill("1 µs");
  await page.getByLabel("To, ms").fill("100");
  await page.getByRole("button", { name: "Use as selection" }).click();
  await expect(page.locator(".chip")).toHaveText("100 ms range");
  await expect(page).toHaveURL(/start_us=4369105438794\.113&end_us=4369105538793\.113/);
  await expect(events).not.toHaveText(/1.580/);
  await page.getByRole("button", { name: "▾", exact: true }).click();
  await expect(page.getByLabel("From, ms")).toHaveValue("0.001");
  await expect(page.getByLabel("To, ms")).toHaveValue("100");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Remove the selection" }).click();
  await expect(events).toHaveText(/^1.580 rows$/);
});

test("a click on the bar of a step selects it", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&folds=steps`);
  const canvas = await drawnChart(page, "Step time");
  const box = await canvas.boundingBox();
  if (box === null) throw new Error("no chart");
  await canvas.click({ position: { x: 64 + ((box.width - 80) * 2.5) / 6, y: 200 } });
  await expect(page.locator(".chip")).toHaveText("Step 7");
  await expect(page.locator("summary", { hasText: "Steps" })).toContainText("1 step of ");
});

test("a selection without a step has a note, not an empty page", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&start_us=1&end_us=2`);
  await expect(page.getByRole("alert")).toContainText("No step in this selection");
  await page.getByRole("button", { name: "Show the whole trace" }).click();
  await expect(card(page, "Average step")).toContainText("mean of 6 steps");
});

test("the selection is saved for Perfetto", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&steps=6`);
  const saved = async (name: string) => {
    await page.getByRole("button", { name: "Trace ▾" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
    return readFileSync(await download.path(), "utf8");
  };
  const exported = JSON.parse(await saved("Save step 6 for Perfetto")) as { traceEvents: { name: string; ph: string }[] };
  const names = new Set(exported.traceEvents.map(({ name }) => name));
  expect(names.has("ProfilerStep#6") && !names.has("ProfilerStep#8")).toBe(true);
  expect(exported.traceEvents.some(({ ph }) => ph === "C")).toBe(true);
  await page.getByRole("button", { name: "Trace ▾" }).click();
  await expect(page.getByRole("link", { name: /ui\.perfetto\.dev/ })).toHaveAttribute("href", "https://ui.perfetto.dev");
});

test("every chart is saved as picture and as data", async ({ guarded: page, standalone }) => {
  const saved = async (title: string, item: string) => {
    await card(page, title).getByRole("button", { name: "Save" }).click();
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: item }).click()]);
    return readFileSync(await download.path());
  };
  await page.goto(`${standalone.url}${HASH}&folds=steps`);
  await drawnChart(page, "Step time");
  for (const title of ["Step time", "Average step"]) {
    expect((await saved(title, "Picture as PNG")).subarray(1, 4).toString()).toBe("PNG");
  }
  const lines = (await saved("Average step", "Data as CSV")).toString().trim().split("\r\n");
  expect(lines).toHaveLength(9);
  expect(lines.find((line) => line.startsWith("DataLoader"))).toMatch(/^DataLoader,59261\.83\d*,33\.3\d+$/);
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=modules`);
  expect((await saved("Module flame graph", "Picture as PNG")).length).toBeGreaterThan(5000);
});

test("a finding shows its evidence, and leads to the rows", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  const finding = page.getByRole("listitem").filter({ hasText: "Tensor Cores unused" });
  await finding.getByRole("button", { name: "Why" }).click();
  await expect(finding.getByRole("columnheader", { name: "Reason" })).toBeVisible();
  await finding.getByRole("link", { name: "Which rows" }).click();
  await expect(page).toHaveURL(/view=(operators|kernels)/);
  await expect(page.getByRole("status").filter({ hasText: /^showing \d+ of \d+$/ })).toBeVisible();
});

test("the rows of a finding are scrolled into view, also in the same view, on every click", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=distributed`);
  const stragglers = card(page, "Stragglers");
  const link = page.getByRole("listitem").filter({ hasText: "Straggler" }).getByRole("link", { name: "Which rows" });
  for (let click = 1; click <= 2; click++) {
    await link.scrollIntoViewIfNeeded();
    await expect(stragglers).not.toBeInViewport({ ratio: 0.95 });
    await link.click();
    await expect(page).toHaveURL(/view=distributed&table=stragglers/);
    await expect(stragglers).toBeFocused();
    await expect(stragglers).toBeInViewport({ ratio: 0.95 });
  }
  await page.reload();
  await expect(stragglers).toBeInViewport({ ratio: 0.95 });
});

test("on paper all rows are printed, dark on light", async ({ guarded: page, standalone }) => {
  await page.emulateMedia({ colorScheme: "dark" });
  await page.goto(`${standalone.url}${HASH}&view=kernels`);
  const rows = card(page, "Kernels").locator(".grid-body > .grid-row");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await expect(rows.first()).toBeVisible();
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await expect(rows).toHaveCount(67);
  await expect(page.locator("html")).toHaveAttribute("data-theme", "light");
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("on an A4 sheet no column is cut off, and there is nothing to click", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}${HASH}&view=kernels`);
  await expect(card(page, "Kernels").locator(".grid-body > .grid-row").first()).toBeVisible();
  await page.emulateMedia({ media: "print" });
  // 210 mm less the margins of print.css, in CSS px.
  await page.setViewportSize({ width: 703, height: 1000 });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(703);
  const foot = await card(page, "Kernels").locator(".grid-foot").boundingBox();
  const last = await card(page, "Kernels").locator(".grid-body > .grid-row").last().boundingBox();
  expect(foot?.y).toBeGreaterThan(last?.y ?? Infinity);
  expect(await page.locator("main .button:visible").count()).toBe(0);
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
});

test("the keyboard alone reaches a view and a row, and focus is visible", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url + HASH);
  const operators = page.getByRole("link", { name: "Operators" });
  await operators.focus();
  await page.keyboard.press("Enter");
  const grid = card(page, "Operators").getByRole("treegrid");
  await grid.focus();
  await page.keyboard.press("Tab");
  expect(await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle)).toBe("solid");
  await grid.focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Launched work" })).toBeVisible();
});

test("the theme is remembered", async ({ guarded: page, standalone }) => {
  await page.goto(standalone.url);
  await page.getByRole("button", { name: "Switch to the dark theme" }).click();
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});
