/** What is shown while a page loads keeps its place: the layout shift of each page's first load, as browsers count it. */
import type { Page } from "@playwright/test";

import { expect, test } from "./fixtures";

const LIMIT = 0.05;
const PAGES: Readonly<Record<string, readonly string[]>> = {
  kineto_resnet50_nw0: ["overview", "timeline", "iterations", "phases", "operators", "modules", "groups", "kernels", "idle", "efficiency", "memory", "resources"],
  dlrm_8_ranks: ["distributed"],
  cpu_slowloader_nw2: ["data", "compare&baseline_run=cpu_slowloader_nw0"],
};

interface Shift extends PerformanceEntry {
  readonly value: number;
  readonly hadRecentInput: boolean;
}

/** What moved since the page was opened, as browsers count it, once it is quiet. */
function shiftOf(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries() as Shift[]) if (!entry.hadRecentInput) sum += entry.value;
        }).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => resolve(sum), 500);
      }),
  );
}

test("a slow server moves nothing on a narrow page", async ({ guarded: page, standalone }) => {
  await page.setViewportSize({ width: 390, height: 900 });
  for (const path of ["runs", "views?", "data/**"]) {
    await page.route(`**/api/${path}*`, async (route) => {
      await new Promise((resolve) => setTimeout(resolve, 400));
      await route.continue();
    });
  }
  for (const address of ["run=kineto_resnet50_nw0&view=groups", "run=cpu_slowloader_nw2&view=compare&baseline_run=cpu_slowloader_nw0"]) {
    await page.goto("about:blank");
    await page.goto(`${standalone.url}#${address}`);
    await expect(page.getByText("Loading the list of runs …")).toBeVisible();
    await expect(page.locator("main .answer")).toBeVisible();
    await expect(page.locator("main [aria-busy=true]")).toHaveCount(0);
    expect(await shiftOf(page), address).toBeLessThan(LIMIT);
  }
});

for (const width of [1440, 390]) {
  test(`no page moves while it loads, at ${width} px`, async ({ guarded: page, standalone }) => {
    test.setTimeout(180_000);
    await page.setViewportSize({ width, height: 900 });
    const shifts: Record<string, number> = {};
    for (const [run, views] of Object.entries(PAGES)) {
      for (const view of views) {
        await page.goto("about:blank");
        await page.goto(`${standalone.url}#run=${run}&view=${view}`);
        await expect(page.locator("main .page-head h1")).toBeAttached();
        await expect(page.locator("main [aria-busy=true]")).toHaveCount(0);
        const shift = await shiftOf(page);
        if (shift > LIMIT) shifts[`${run} ${view}`] = shift;
      }
    }
    expect(shifts).toEqual({});
  });
}
