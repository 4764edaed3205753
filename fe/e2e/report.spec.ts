/** A saved report: from the page to a file that opens from disk, with the network off, in light and dark. */
import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

import type { Browser, Download, Page } from "@playwright/test";

import { faults } from "./audit";
import { expect, test } from "./fixtures";

async function save(page: Page, name: string): Promise<Download> {
  await page.getByRole("button", { name: "Report ▾" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
  return download;
}

/** Opens a file without network in a window of its own; what the console said. */
async function openFromDisk(browser: Browser, path: string, check: (page: Page) => Promise<void>): Promise<string[]> {
  const messages: string[] = [];
  const context = await browser.newContext({ offline: true, colorScheme: "dark" });
  const page = await context.newPage();
  page.on("console", (message) => messages.push(message.text()));
  page.on("pageerror", (error) => messages.push(error.message));
  await page.goto(pathToFileURL(path).href);
  await check(page);
  await context.close();
  return messages;
}

test("a report of the chosen views opens from disk, with the network off", async ({ guarded: page, standalone, browser }, testInfo) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=overview`);
  await page.getByRole("button", { name: "Report ▾" }).click();
  await page.getByRole("checkbox", { name: "Kernels", exact: true }).uncheck();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save report" }).click()]);
  expect(download.suggestedFilename()).toMatch(/^report_kineto_resnet50_nw0_worker0_.*\.html$/);
  const path = testInfo.outputPath("report.html");
  await download.saveAs(path);
  const messages = await openFromDisk(browser, path, async (report) => {
    await expect(report.getByRole("heading", { name: "Findings" })).toBeVisible();
    await expect(report.getByRole("heading", { name: "Idle", exact: true })).toBeVisible();
    await expect(report.getByRole("heading", { name: "Kernels", exact: true })).toHaveCount(0);
    await expect(report.getByRole("img", { name: /Data loading/ })).toBeVisible();
    const dark = await report.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(dark).toBe("rgb(21, 24, 28)");
    const link = report.getByRole("link", { name: standalone.url });
    expect(await link.getAttribute("href")).toContain("#run=kineto_resnet50_nw0&view=overview");
    expect(await faults(report)).toEqual([]);
    expect(await report.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth)).toBe(true);
  });
  expect(messages).toEqual([]);
});

test("a comparison is saved in two clicks", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=mi300_bert_small&view=compare&baseline_run=h100_bert_small`);
  await expect(page.getByRole("heading", { name: "Environment" }).first()).toBeVisible();
  const download = await save(page, "Save this comparison");
  const text = readFileSync(await download.path(), "utf8");
  expect(text).toContain("Comparison of two PyTorch profiles");
});

test("a report prints on A4 with what is folded", async ({ guarded: page, standalone, browser }, testInfo) => {
  await page.goto(`${standalone.url}#run=cpu_ddp4_gloo&view=overview`);
  const download = await save(page, "Save report");
  const path = testInfo.outputPath("report.html");
  writeFileSync(path, readFileSync(await download.path()));
  const messages = await openFromDisk(browser, path, async (report) => {
    await report.emulateMedia({ media: "print" });
    await expect(report.getByRole("heading", { name: "How each number is counted" })).toBeVisible();
    expect((await report.pdf({ preferCSSPageSize: true })).length).toBeGreaterThan(10_000);
  });
  expect(messages).toEqual([]);
});

test("charts are saved as SVG, and a finding is copied as Markdown", async ({ guarded: page, standalone, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=overview`);
  await page.getByTitle("Copy this finding as Markdown").first().click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toMatch(/^\*\*Data loading: est\. gain 58\.7 ms per step/);

  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=idle`);
  const chart = page.locator("figure.chart").first();
  await expect(chart.getByRole("img")).toHaveAttribute("aria-busy", "false");
  await chart.getByRole("button", { name: "Save" }).click();
  const [download] = await Promise.all([page.waitForEvent("download"), chart.getByRole("button", { name: "Picture as SVG" }).click()]);
  const svg = readFileSync(await download.path(), "utf8");
  expect(svg).toMatch(/^<svg /);
  expect(svg.length).toBeGreaterThan(2000);
});
