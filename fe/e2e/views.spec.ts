/** Every other view shows its charts and tables on a real trace. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chooseTrace } from "./picker";
import { card, drawnChart } from "./tables";
import { expect, test } from "./fixtures";
import { goTo, railOf } from "./pages";
import { serve } from "./servers";

test("memory: curve, peak, composition, a range as selection", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=memory`);
  await expect(await drawnChart(page, "Memory over time")).toBeVisible();
  await expect(page.locator('[data-fact="peak_allocated_bytes"]')).toHaveText("1.66 MiB");
  await goTo(page, "memory", "peak");
  for (const title of ["Peak memory", "Live allocations at the peak"]) await expect(card(page, title)).toBeVisible();
  await goTo(page, "memory", "allocations");
  for (const title of ["Memory by operator", "Memory events"]) await expect(card(page, title)).toBeVisible();
});

test("memory: the grouping of the peak by module is in the address", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=memory&tab=peak`);
  await page.getByRole("button", { name: "By module" }).click();
  await page.reload();
  await expect(page.getByRole("button", { name: "By module" })).toHaveAttribute("aria-pressed", "true");
  await expect(card(page, "Live allocations at the peak")).toContainText("SmallResNet_0");
});

test("a selection outside the recording has a note in every view, with a way back", async ({ guarded: page, standalone }) => {
  const views = { kernels: "No kernel", operators: "No operator", memory: "No memory event" };
  for (const [view, text] of Object.entries(views)) {
    await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=${view}&start_us=1&end_us=2`);
    await expect(page.getByRole("alert")).toContainText(`${text} in this selection`);
    await expect(page.getByRole("img", { name: /^Chart:/ })).toHaveCount(0);
  }
  await page.getByRole("button", { name: "Show the whole trace" }).click();
  await expect(page.locator(".chip")).toHaveCount(0);
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=distributed&start_us=1&end_us=2`);
  await expect(page.getByRole("alert")).toContainText("No communication in this selection");
  await expect(page.getByRole("img", { name: /^Chart:/ })).toHaveCount(0);
});

test("modules: the tree opens and closes, the flame graph widens", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=modules`);
  const table = card(page, "Modules");
  const inner = table.getByTitle("Conv2d_0", { exact: true });
  await expect(inner).toBeVisible();
  await table.getByRole("row", { name: /Sequential_0/ }).getByRole("button", { name: "Close row" }).click();
  await expect(inner).toHaveCount(0);
  const box = page.locator(".flame-box", { hasText: "Block_1" });
  const before = (await box.boundingBox())?.width ?? 0;
  await box.click();
  const isWide = () => expect.poll(async () => (await box.boundingBox())?.width ?? 0).toBeGreaterThan(before * 1.5);
  await isWide();
  await page.reload();
  await isWide();
});

test("distributed: workers side by side", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=distributed`);
  for (const title of ["Computation and communication", "Transfer and wait"]) {
    await expect(page.getByRole("img", { name: `Chart: ${title}` }).locator("canvas")).toBeVisible();
  }
  await expect(card(page, "Stragglers").locator(".grid-body > .grid-row")).toHaveCount(8);
  await expect(card(page, "Devices")).toContainText("Tesla V100-SXM2-32GB");
});

test("all workers: from one worker to the run, and back to one", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=dlrm_8_ranks`);
  await page.getByTitle("Choose run, worker and span").click();
  await page.getByRole("treeitem", { name: /^All 8 workers/ }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Distributed");
  await expect(card(page, "Ranks")).toBeVisible();
  await chooseTrace(page, "dlrm worker3");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Overview");
  await expect(page).toHaveURL(/worker=worker3_step_12/);
});

test("a stack on a trace without kernels requests none", async ({ guarded: page, standalone }) => {
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push(response.url());
  });
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=operators`);
  await card(page, "Operators").getByRole("button", { name: "Open row" }).first().click();
  await expect(page.getByRole("heading", { name: /^Call stack of/ })).toBeVisible();
  expect(refused).toEqual([]);
});

test("a view without data is named and says why", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo`);
  const rail = railOf(page);
  await expect(rail.getByRole("link", { name: "Kernels" })).toHaveCount(0);
  await rail.getByRole("button", { name: /^\d more need data this recording lacks$/ }).press("Enter");
  await expect(rail.getByRole("term").filter({ hasText: "Kernels" })).toBeVisible();
  await expect(rail.getByRole("definition").filter({ hasText: /no kernel/i })).toBeVisible();
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&view=kernels`);
  await expect(card(page, "Kernels: nothing to show for this trace")).toContainText(/no kernel/i);
  await expect(page.getByRole("alert")).toHaveCount(0);
});

test("an open row of thousands of kernels has them all, the largest first", async ({ guarded: page }) => {
  const count = 5200;
  const logdir = mkdtempSync(join(tmpdir(), "profiler-many-"));
  const events = Array.from({ length: count }, (_, id) => {
    const [at, args] = [20 * id, { correlation: id + 1, "External id": id + 1 }];
    const launch = { device: 0, stream: 7, grid: [id + 1, 1, 1], block: [32, 1, 1] };
    return [
      { ph: "X", cat: "cpu_op", name: "aten::many", pid: 1, tid: 1, ts: at, dur: 8, args },
      { ph: "X", cat: "cpu_op", name: `aten::op${id}`, pid: 1, tid: 1, ts: at + 9, dur: 1 },
      { ph: "X", cat: "cuda_runtime", name: "cudaLaunchKernel", pid: 1, tid: 1, ts: at + 1, dur: 2, args },
      { ph: "X", cat: "kernel", name: "gemm", pid: 0, tid: 7, ts: at + 3, dur: 4, args: { ...args, ...launch } },
    ];
  });
  writeFileSync(join(logdir, "w.pt.trace.json"), JSON.stringify({ schemaVersion: 1, traceEvents: events.flat() }));
  const server = await serve(logdir);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  await page.goto(`${server.url}#view=operators&by=host_self_us`);
  const table = card(page, "Operators");
  await expect(table.getByRole("status").first()).toHaveText(/^5.201 rows$/);
  await expect.poll(() => requests.some((url) => url.includes("sort=-host_self_us&limit=10"))).toBe(true);
  await table.getByRole("row", { name: /aten::many/ }).getByRole("button", { name: "Open row" }).click();
  await expect(page.getByRole("group", { name: "Own kernels by launch", exact: true }).getByRole("status").first()).toHaveText(/^5.200 rows$/);
  await server.stop();
});
