/** Idle time, copies and sequences: the answer, the charts, and the way from a row to the timeline. */
import { contrastFaults, faults } from "./audit";
import { card, drawnChart } from "./tables";
import { expect, test } from "./fixtures";
import { goTo } from "./pages";

const RESNET = "run=kineto_resnet50_nw0&worker=worker0&span=1";

test("idle time is summarized in a sentence, and a gap links to the timeline", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RESNET}&view=idle`);
  await expect(page.locator(".answer")).toContainText(/43.4 % of the time.*next batch/);
  await drawnChart(page, "Where the time of each device goes");
  expect([...(await faults(page)), ...(await contrastFaults(page))]).toEqual([]);
  await goTo(page, "idle", "gaps");
  const gaps = card(page, "Longest gaps");
  await gaps.getByRole("button", { name: "Open row" }).first().click();
  await gaps.getByRole("link", { name: "Show me" }).click();
  await expect(page).toHaveURL(/view=timeline.*range=\d+-\d+/);
});

test("the rate of copies is drawn with the limit of its link", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RESNET}&view=copies`);
  await drawnChart(page, "Rate of copies");
  await expect(page.getByText(/limit of HtoD, 15.8 GB\/s/)).toBeVisible();
  await expect(card(page, "Copies by size")).toBeVisible();
});

test("a repeated sequence lists its kernels in order", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=sequences`);
  await card(page, "Repeated sequences").getByRole("button", { name: "Open row" }).first().click();
  await expect(page.getByRole("list", { name: /Kernels of the sequence/ }).getByRole("listitem")).toHaveCount(3);
});
