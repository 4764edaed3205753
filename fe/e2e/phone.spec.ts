/** At 390 px: no page scrolls sideways or has a fault by axe, the pages are in a drawer, run and selection stay in reach. */
import type { Page } from "@playwright/test";

import { faults } from "./audit";
import { expect, test } from "./fixtures";

test.use({ viewport: { width: 390, height: 844 } });

const SHOWN: Readonly<Record<string, readonly string[]>> = {
  kineto_resnet50_nw0: ["overview", "timeline", "iterations", "phases", "critical_path", "operators", "operator_types", "modules", "groups", "shapes", "kernels", "kernels&tab=api_calls", "copies", "sequences", "idle", "idle&tab=gaps", "idle&tab=launches", "efficiency", "memory", "data", "resources"],
  cpu_resnet_full: ["overview", "memory&tab=allocations", "memory&tab=peak", "compare&baseline_run=cpu_slowloader_nw0"],
  dlrm_8_ranks: ["overview", "ranks", "distributed", "distributed&tab=collectives"],
  torch_compile_triton: ["compiled", "sql", "sql&form=chart&query=select%20name,%20calls,%20total_us%20from%20kernels"],
};

/** What reaches beyond the right edge and is not inside something that scrolls itself. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const main = document.querySelector("main");
    if (main === null) return ["no page"];
    const scrollsItself = (element: Element) => /auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX);
    const inScroller = (element: Element) => {
      for (let parent = element.parentElement; parent !== null && parent !== main; parent = parent.parentElement) if (scrollsItself(parent)) return true;
      return false;
    };
    const wide = [...document.querySelectorAll("body *")].filter((element) => element.checkVisibility() && element.getBoundingClientRect().right > window.innerWidth + 1 && !inScroller(element));
    const all = wide.map((element) => `<${element.tagName.toLowerCase()} class="${element.className}"> to ${Math.round(element.getBoundingClientRect().right)} px`);
    return main.scrollWidth > main.clientWidth ? [`main scrolls ${main.scrollWidth - main.clientWidth} px`, ...all] : all;
  });
}

for (const [run, views] of Object.entries(SHOWN)) {
  test(`no page of ${run} scrolls sideways or has a fault`, async ({ guarded: page, standalone }) => {
    test.setTimeout(180_000);
    const problems: Record<string, string[]> = {};
    for (const view of views) {
      await page.goto("about:blank");
      await page.goto(`${standalone.url}#run=${run}&view=${view}`);
      await expect(page.locator("main .page-head h1")).toBeAttached();
      await expect(page.locator("main [aria-busy=true]")).toHaveCount(0);
      const all = [...(await tooWide(page)), ...(await faults(page))];
      if (all.length > 0) problems[view] = all;
    }
    expect(problems).toEqual({});
  });
}

test("the pages are in a drawer, which holds the focus, and closes by Escape and on the way to a page", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=kernels&steps=6:7`);
  await expect(page.getByTitle("Choose run, worker and span")).toBeInViewport({ ratio: 1 });
  await expect(page.getByRole("button", { name: "Remove the selection" })).toBeInViewport({ ratio: 1 });
  const button = page.getByRole("button", { name: "Kernels", exact: true });
  const drawer = page.getByRole("dialog", { name: "Pages" });
  await expect(drawer).toBeHidden();
  await button.focus();
  await page.keyboard.press("Enter");
  await expect(drawer).toBeVisible();
  for (let times = 0; times < 20; times++) {
    await page.keyboard.press("Tab");
    // A dialog lets the focus go to the browser's own controls, never to the page below.
    expect(await page.evaluate(() => document.activeElement === document.body || document.activeElement?.closest("dialog") !== null)).toBe(true);
  }
  await page.keyboard.press("Escape");
  await expect(drawer).toBeHidden();
  await expect(button).toBeFocused();
  await button.click();
  await drawer.getByRole("link", { name: "Operators" }).click();
  await expect(drawer).toBeHidden();
  await expect(page).toHaveURL(/view=operators/);
  await expect(page.getByRole("heading", { level: 1, name: "Operators" })).toBeVisible();
});

test("a table scrolls inside itself, with a number beside the name", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=kineto_resnet50_nw0&view=operators`);
  const grid = page.locator("[data-table=operators] .grid-scroll");
  const [name, next] = [grid.getByRole("columnheader").first(), grid.getByRole("columnheader").nth(1)];
  await next.scrollIntoViewIfNeeded();
  const [box, first, second] = [await grid.boundingBox(), await name.boundingBox(), await next.boundingBox()];
  if (box === null || first === null || second === null) throw new Error("not drawn");
  expect(first.width).toBeLessThan(box.width / 2);
  expect(second.x + second.width).toBeLessThanOrEqual(box.x + box.width);
  expect(await grid.evaluate((element) => element.scrollWidth > element.clientWidth)).toBe(true);
});
