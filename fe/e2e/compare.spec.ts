/** Two traces side by side: what is compared, how it is chosen, and what stays when it fails. */
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Page } from "@playwright/test";

import { card } from "./tables";
import { expect, test } from "./fixtures";
import { serve } from "./servers";

/** Runs with a trace of one operator, except those that hold none or are no trace at all. */
function logdirOf(runs: Readonly<Record<string, "good" | "empty" | "bad">>): string {
  const logdir = mkdtempSync(join(tmpdir(), "profiler-compare-"));
  for (const [run, kind] of Object.entries(runs)) {
    mkdirSync(join(logdir, run));
    const event = { ph: "X", cat: "cpu_op", name: "aten::add", pid: 1, tid: 1, ts: 1, dur: 10 };
    const traceEvents = kind === "good" ? [event] : [];
    const text = kind === "bad" ? "<!doctype html><p>Please log in</p>" : JSON.stringify({ schemaVersion: 1, traceEvents });
    writeFileSync(join(logdir, run, "w.pt.trace.json"), text);
  }
  return logdir;
}

/** A run of three steps with one linear layer, on a device of this name. */
function onDevice(logdir: string, run: string, device: string, kernel: number, ranks: number): void {
  const traceEvents: object[] = [];
  const add = (cat: string, name: string, ts: number, dur: number, tid: number, args: object = {}) =>
    traceEvents.push({ ph: "X", cat, name, pid: cat === "kernel" ? 0 : 1, tid, ts, dur, args });
  for (const step of [0, 1, 2]) {
    const at = 1000 * step;
    add("user_annotation", `ProfilerStep#${step}`, at, 400 + kernel + step, 1);
    add("cpu_op", "aten::linear", at + 10, 50, 1, { "Input Dims": [[32, 8], [8, 8]] });
    add("cuda_runtime", "cudaLaunchKernel", at + 20, 5, 1, { correlation: step + 1 });
    add("kernel", "gemm", at + 40, kernel, 7, { correlation: step + 1, device: 0, stream: 7 });
  }
  mkdirSync(join(logdir, run));
  const distributedInfo = { backend: "nccl", rank: 0, world_size: ranks };
  writeFileSync(join(logdir, run, "w.pt.trace.json"), JSON.stringify({ deviceProperties: [{ id: 0, name: device }], distributedInfo, traceEvents }));
}

const answer = (page: Page) => page.locator(".answer");

const chooser = (page: Page) => page.getByLabel("Baseline", { exact: true });

test("0 against 2 loader workers names the data loader, and swaps", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0`);
  await expect(answer(page)).toContainText(": data loading −30.9 ms");
  await page.getByRole("button", { name: "Swap" }).click();
  await expect(answer(page)).toContainText(": data loading +30.9 ms");
});

test("the steps of the baseline are swapped with it", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0&baseline_steps=3`);
  await expect(page.getByLabel("Baseline steps")).toHaveValue("3");
  await page.getByRole("button", { name: "Swap" }).click();
  await expect(page.getByLabel("Baseline steps")).toHaveValue("");
  await expect(page.locator(".chip")).toHaveText("Step 3");
});

test("without a device the phases have the times of the host", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0&tab=phases`);
  await expect(card(page, "Phases").getByRole("columnheader", { name: /^Δ Host Total/ }).first()).toBeVisible();
});

test("baseline and candidate are chosen from selectors, and the answer comes first", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0`);
  const first = answer(page);
  await expect(first).toContainText("cpu_slowloader_nw2 is 52.1 % faster than cpu_slowloader_nw0");
  await expect(page.locator("[data-fact]"), "the sentence is not repeated").toHaveCount(0);
  // The picture of it is on the first screen.
  await expect(page.getByRole("heading", { name: "Average step" }).first()).toBeInViewport();
  await page.getByLabel("Candidate", { exact: true }).selectOption({ label: "cpu_slowloader_nw0" });
  await expect(first).toContainText("takes as long as");
  await expect(page).toHaveURL(/baseline_run=cpu_slowloader_nw0/);
  await page.getByLabel("Baseline", { exact: true }).selectOption({ label: "cpu_slowloader_nw2" });
  await expect(first).toContainText("cpu_slowloader_nw0 takes 2.09 times as long as cpu_slowloader_nw2");
  for (const title of ["Steps", "Operators"]) {
    await page.getByRole("navigation", { name: "Compare: tabs" }).getByRole("link", { name: title, exact: true }).click();
    await expect(card(page, title).getByRole("columnheader", { name: /^Δ/ }).first()).toBeVisible();
  }
});

test("a baseline that cannot be read leaves the chooser, and names its own file alone", async ({ guarded: page }) => {
  const server = await serve(logdirOf({ a_bad: "bad", b_good: "good", c_good: "good" }));
  await page.goto(`${server.url}#run=c_good&view=compare&baseline_run=a_bad`);
  const failed = page.getByRole("alert");
  await expect(failed).toContainText("a_bad/w.pt.trace.json is a web page");
  await expect(failed).not.toContainText("File");
  await expect(page.getByLabel("Baseline steps")).toBeVisible();
  await expect(chooser(page).locator("option", { hasText: "a_bad" })).toHaveText("a_bad (could not be read)");
  await chooser(page).selectOption({ label: "b_good" });
  await expect(answer(page)).toBeVisible();
  await expect(failed).toHaveCount(0);
  await server.stop();
});

test("steps that the baseline lacks do not remove their field", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0&baseline_steps=99`);
  await expect(page.getByRole("alert")).toContainText("99");
  await page.getByLabel("Baseline steps").fill("");
  await page.getByLabel("Baseline steps").press("Enter");
  await expect(answer(page)).toContainText(": data loading −30.9 ms");
});

test("a link to a missing baseline says so instead of comparing with another", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=gone`);
  await expect(page.getByRole("alert")).toContainText("Baseline not found");
  await expect(page.getByRole("alert")).toContainText("run “gone”");
  await expect(answer(page)).toHaveCount(0);
  await chooser(page).selectOption({ label: "cpu_slowloader_nw0" });
  await expect(answer(page)).toContainText(": data loading −30.9 ms");
});

test("opened from the rail it picks the most similar baseline, and writes it into the address", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2`);
  await page.getByRole("link", { name: "Compare" }).click();
  await expect(page).toHaveURL(/baseline_run=cpu_slowloader_nw0&baseline_worker=[^&]+&baseline_span=[^&]+/);
  await expect(answer(page)).toContainText(": data loading −30.9 ms");
  await page.goBack();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Overview");
});

test("an unreadable default baseline is skipped", async ({ guarded: page }) => {
  const server = await serve(logdirOf({ model_bad: "bad", model_good: "good", other: "good" }));
  await page.goto(`${server.url}#run=model_good&view=compare`);
  await expect(page).toHaveURL(/baseline_run=other/);
  await expect(chooser(page).locator("option:checked")).toHaveText("other");
  await expect(answer(page)).toBeVisible();
  await server.stop();
});

test("a default baseline without events is skipped, with a note", async ({ guarded: page }) => {
  const server = await serve(logdirOf({ model_empty: "empty", model_good: "good", other: "good" }));
  await page.goto(`${server.url}#run=model_good&view=compare`);
  await expect(page).toHaveURL(/baseline_run=other/);
  await expect(page.getByRole("note").filter({ hasText: "model_empty" })).toBeVisible();
  await expect(answer(page)).toBeVisible();
  await server.stop();
});

test("another device is reported first, removes the significance, and the step links to its kernels", async ({ guarded: page }) => {
  const logdir = mkdtempSync(join(tmpdir(), "profiler-compare-"));
  onDevice(logdir, "before", "Tesla V100", 100, 8);
  onDevice(logdir, "after", "NVIDIA A100", 180, 4);
  const server = await serve(logdir);
  await page.goto(`${server.url}#run=after&view=compare&baseline_run=before`);
  const around = page.getByRole("region", { name: "Environment" });
  await expect(around.locator(".warning").first()).toContainText("Tesla V100 against NVIDIA A100");
  await expect(around.locator(".warning").nth(1)).toContainText("ranks differ: 8 against 4");
  // All selectors are in one line.
  const boxes = [chooser(page), page.getByLabel("Candidate", { exact: true }), page.getByRole("button", { name: "Swap" })].map((one) => one.boundingBox());
  const tops = (await Promise.all(boxes)).map((box) => Math.round((box?.y ?? 0) + (box?.height ?? 0) / 2));
  expect(new Set(tops).size, tops.join(" ")).toBe(1);
  await around.locator("summary").filter({ hasText: "differ" }).click();
  await expect(around.getByRole("row").filter({ hasText: "Device" }).first()).toContainText("NVIDIA A100");
  await expect(around.locator("summary").filter({ hasText: "equal" })).toContainText("Batch size");
  await expect(page.locator(".answer")).toContainText("Not only the code may differ (device Tesla V100 against NVIDIA A100");
  await expect(answer(page), "no significance").not.toContainText("p <");
  const tree = card(page, "From the step to its kernels");
  await expect(tree.getByText("gemm")).toHaveCount(0);
  // The step is open; its one phase, then the one operator in it.
  for (const [level, rows] of [
    ["phase", 3],
    ["operator", 4],
  ] as const) {
    await tree.getByRole("button", { name: "Open row" }).first().click();
    await expect(tree.locator(".grid-body .grid-row"), level).toHaveCount(rows);
  }
  await expect(tree.locator(".grid-row").filter({ hasText: "gemm" })).toContainText("+80");
  await server.stop();
});

test("a trace compared with itself has no difference", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=compare&baseline_run=h100_bert_small`);
  await expect(page.getByRole("note").filter({ hasText: "No difference" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Environment" })).toContainText("Same environment on both sides");
});

test("renamed kernels are pairs, and the verdict comes first on every tab", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=mi300_bert_small&view=compare&baseline_run=h100_bert_small`);
  await expect(page.locator(".answer")).toContainText("mi300_bert_small is 9.5 % faster than h100_bert_small");
  await page.getByRole("navigation", { name: "Compare: tabs" }).getByRole("link", { name: "Kernels" }).click();
  await expect(page).toHaveURL(/tab=kernels/);
  await expect(page.locator(".answer")).toBeVisible();
  const attention = card(page, "Kernels").locator(".grid-row").filter({ hasText: "attn_fwd" });
  await expect(attention).toContainText("flash_fwd_kernel");
  await expect(attention).toContainText("attn_fwd100.0");
});

test("a former address leads to the tab of its table", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0&tab=modules`);
  await expect(page.locator(".tabs [aria-current]")).toHaveText("Operators");
});

test("a third side stands beside the other two, and goes again", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0&tab=operators`);
  await page.getByLabel("Third side").selectOption({ label: "cpu_resnet_full" });
  await expect(page).toHaveURL(/third_run=cpu_resnet_full/);
  await expect(page.locator(".answer")).toContainText("cpu_resnet_full takes 2.12 times as long");
  await expect(card(page, "Operators").getByRole("columnheader", { name: /^Third/ }).first()).toBeVisible();
  await page.getByLabel("Third side").selectOption({ label: "none" });
  await expect(page.locator(".answer")).not.toContainText("cpu_resnet_full");
});

test("the marked run is the baseline of the next comparison", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_resnet_full`);
  const mark = page.getByRole("button", { name: "Mark as baseline" });
  await mark.click();
  await expect(page.getByRole("button", { name: "Marked as baseline" })).toHaveAttribute("aria-pressed", "true");
  await page.goto("about:blank");
  await page.goto(`${standalone.url}#run=cpu_slowloader_nw0&view=compare`);
  await expect(page).toHaveURL(/baseline_run=cpu_resnet_full/);
  await page.getByRole("button", { name: "Marked as baseline" }).click();
  await expect(mark).toBeVisible();
});
