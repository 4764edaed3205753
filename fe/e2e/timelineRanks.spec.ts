/** Any number of ranks on the timeline: a band each, on one clock; from there to the tracks of one, and to a merged file. */
import type { TimelineClocksAnswer } from "../src/generated/schema";
import { expect, test } from "./fixtures";
import { getJson, settled } from "./timelines";

const RUN = "dlrm_8_ranks";

test("ranks are chosen as bands, and one opens into its tracks", async ({ guarded: page, standalone }) => {
  const { workers } = await getJson<TimelineClocksAnswer>(page, `${standalone.url}api/timeline/clocks?run=${RUN}`);
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline`);
  await settled(page);
  await page.getByRole("button", { name: "Stack ranks" }).click();
  const form = page.locator(".tl-ranks");
  await form.getByLabel("Ranks").fill("0-99");
  await expect(form.getByRole("status")).toContainText("8 of 8 ranks");
  await form.getByLabel("Ranks").fill("99");
  await expect(form.getByRole("status")).toContainText("No recording of rank 99");
  await expect(form.getByRole("button", { name: "Show", exact: true })).toBeDisabled();
  await form.getByRole("button", { name: "All", exact: true }).click();
  await form.getByRole("button", { name: "Show", exact: true }).click();
  await expect(page).toHaveURL(/ranks=all/);
  await settled(page);
  const bands = page.locator('[data-track$="/band"] .tl-name');
  await expect(bands).toHaveText(workers.map(({ rank }) => `rank ${rank}`));
  await page.getByRole("button", { name: "rank 3", exact: true }).click();
  await expect(page).toHaveURL(/stack=worker3_step_12/);
  await expect(page.locator(".tl-group:not(.tl-inner) strong")).toHaveText(["worker0_step_12", "worker3_step_12", "8 ranks"]);
});

test("chosen ranks are saved as one file", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=${RUN}&view=timeline&ranks=0-1`);
  await settled(page);
  await page.getByRole("button", { name: "Stack ranks" }).click();
  const download = page.waitForEvent("download");
  await page.locator(".tl-ranks").getByRole("button", { name: "Save merged trace" }).click();
  expect((await download).suggestedFilename()).toContain("2_ranks");
});
