/** Any number of ranks with all tracks: twelve of 64, fetched as they come on screen, and closed again. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import type { Page } from "@playwright/test";

import { expect, test } from "./fixtures";
import { python, serve, type Server } from "./servers";
import { settled } from "./timelines";

const JOB = `
import runpy, sys
sys.path.insert(0, sys.argv[1])
sys.argv = ["cluster", "make", sys.argv[2], "--seed", "7", "--ranks", "64", "--cause", "slow_device"]
runpy.run_module("bench.cluster", run_name="__main__")
`;
const OTHERS = [9, 40, 3, 17, 22, 28, 31, 44, 50, 57, 63].map((rank) => `rank${rank}`);
const IN_ORDER = OTHERS.toSorted((one, other) => Number(one.slice(4)) - Number(other.slice(4)));

// One job and one server for all of them.
test.describe.configure({ mode: "serial" });

let folder: string;
let server: Server;

test.beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "profiler-ranks-"));
  python(JOB, resolve(import.meta.dirname, "../.."), join(folder, "job"));
  server = await serve(join(folder, "job"));
});

test.afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** Workers of which a part of the screen is requested, bands apart. */
function requestedWorkers(page: Page): Set<string> {
  const workers = new Set<string>();
  page.on("request", (request) => {
    const url = new URL(request.url());
    const worker = url.searchParams.get("worker");
    if (url.pathname.endsWith("/timeline") && !url.searchParams.has("band") && worker !== null) workers.add(worker);
  });
  return workers;
}

/** The median and the longest time between frames while the wheel turns, in ms. */
async function framesWhileScrolling(page: Page): Promise<{ readonly median: number; readonly longest: number }> {
  return page.evaluate(async () => {
    const area = document.querySelector(".tl-frame");
    const gaps: number[] = [];
    let last = performance.now();
    for (let turn = 0; turn < 60; turn++) {
      area?.dispatchEvent(new WheelEvent("wheel", { deltaY: 100, bubbles: true, cancelable: true, clientX: 600, clientY: 500 }));
      const now = await new Promise<number>((done) => requestAnimationFrame(done));
      gaps.push(now - last);
      last = now;
    }
    gaps.sort((one, other) => one - other);
    return { median: gaps[gaps.length >> 1] ?? NaN, longest: gaps.at(-1) ?? NaN };
  });
}

test("twelve of 64 ranks have all tracks, and only those on screen are requested", async ({ guarded: page }) => {
  test.setTimeout(180_000);
  const requested = requestedWorkers(page);
  await page.goto(`${server.url}#view=timeline&ranks=all&stack=${OTHERS.join(",")}`);
  await expect(page.locator(".tl-rects")).toBeVisible({ timeout: 120_000 });
  await settled(page);
  const heads = page.locator(".tl-group:not(.tl-inner) strong");
  await expect(heads.first()).toHaveText("rank0");
  expect(requested.has("rank0")).toBe(true);
  expect(requested.has("rank63")).toBe(false);
  const { median } = await framesWhileScrolling(page);
  expect(median, "ms between frames").toBeLessThan(100);
  await settled(page);
  // What is below was requested as it came on screen, in the order of ranks.
  expect([...requested].filter((worker) => IN_ORDER.includes(worker)).length).toBeGreaterThan(4);
});

test("a band opens the tracks of its rank in sight, and closes them", async ({ guarded: page }) => {
  test.setTimeout(180_000);
  await page.goto(`${server.url}#view=timeline&ranks=all&stack=${OTHERS.join(",")}&shut=${["rank0", ...OTHERS].map((worker) => `g.${worker}/shown`).join(",")}`);
  await expect(page.locator(".tl-rects")).toBeVisible({ timeout: 120_000 });
  const heads = page.locator(".tl-group:not(.tl-inner) strong");
  await expect(heads).toHaveText(["rank0", ...IN_ORDER, "64 ranks"]);
  const band = page.getByRole("button", { name: "rank 1", exact: true });
  await band.click();
  await expect(page).toHaveURL(/stack=[^&]*rank1(&|$)/);
  await expect(page).toHaveURL(/on=rank1(&|$)/);
  await settled(page);
  await expect(page.locator('[data-row="g.rank1/shown"]')).toBeInViewport();
  await expect(band).toHaveAttribute("aria-expanded", "true");
  await band.press("Enter");
  await expect(page).not.toHaveURL(/on=rank1/);
  await settled(page);
  await expect(heads).toHaveText(["rank0", ...IN_ORDER, "64 ranks"]);
});

test("ranks that a text names are opened with all tracks", async ({ guarded: page }) => {
  test.setTimeout(180_000);
  await page.goto(`${server.url}#view=timeline`);
  await settled(page);
  await page.getByRole("button", { name: "Stack ranks" }).click();
  const form = page.locator(".tl-ranks");
  await form.getByLabel("Ranks").fill("0, 9, 40-42");
  await expect(form.getByRole("status")).toContainText("5 of 64 ranks", { timeout: 60_000 });
  await form.getByRole("button", { name: "With all tracks" }).click();
  await expect(page).toHaveURL(/stack=rank9(,|%2C)rank40(,|%2C)rank41(,|%2C)rank42/);
  await expect(page.getByRole("button", { name: "5 ranks stacked" })).toBeVisible({ timeout: 60_000 });
});
