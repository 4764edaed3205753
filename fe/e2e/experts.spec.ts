/** Experts: balance per layer and rank, dispatch and combine, where tokens go. */
import { join } from "node:path";

import { contrastFaults, faults } from "./audit";
import { card } from "./tables";
import { expect, test } from "./fixtures";
import { SAMPLES, serve } from "./servers";

test("experts: who has more tokens, in which layer, and what the transfers take", async ({ guarded: page }) => {
  const server = await serve(join(SAMPLES, "..", "tests", "data", "experts", "grouped"));
  await page.goto(`${server.url}#view=experts`);
  await expect(page.getByText("Experts are out of balance: rank2 gets 1.99 × the mean tokens in nearly every pass.")).toBeVisible();
  await expect(page.locator('[data-fact="exchange_exposed_us"]')).toHaveText("762 ms");
  const map = page.getByRole("figure", { name: "Load of experts per layer and rank" });
  await expect(map.getByText("4 outliers")).toBeVisible();
  expect([...(await faults(page)), ...(await contrastFaults(page))]).toEqual([]);
  await map.getByRole("button", { name: "Tokens" }).click();
  await expect(page).toHaveURL(/load=tokens/);
  const canvas = map.getByRole("application");
  await canvas.focus();
  for (const key of ["ArrowRight", "ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
  await expect(map.getByRole("status")).toContainText("Rank 2, Sequential_0/MoELayer_1 · forward");
  await expect(card(page, "Layers of experts").getByTitle("Sequential_0/MoELayer_1", { exact: true }).first()).toBeVisible();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/view=overview.*worker=rank3/);
  await page.waitForLoadState("networkidle");
  await server.stop();
});
