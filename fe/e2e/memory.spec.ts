/** Memory: what is alive at a moment that is clicked on the curve or typed. */
import { card } from "./tables";
import { expect, test } from "./fixtures";

test("a click on the curve and a typed time list what is alive then", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=memory`);
  const alive = card(page, "Live allocations at a moment");
  await expect(alive.getByText("the peak")).toBeVisible();
  await expect(alive.getByText(/allocated$/)).toHaveText("1.657 MiB allocated");
  await page.getByRole("img", { name: /Memory by category/ }).click({ position: { x: 500, y: 150 } });
  await expect(page).toHaveURL(/at_us=\d+/);
  await expect(alive.getByRole("button", { name: "At the peak" })).toBeVisible();
  await alive.getByLabel(/^at/).fill("soon");
  await alive.getByRole("button", { name: "Show" }).click();
  await expect(alive.getByRole("alert")).toBeVisible();
  await alive.getByLabel(/^at/).fill("800 us");
  await alive.getByRole("button", { name: "Show" }).click();
  await expect(alive.getByLabel(/^at/)).toHaveValue("0.8");
  await alive.getByRole("button", { name: "At the peak" }).click();
  await expect(alive.getByText(/allocated$/)).toHaveText("1.657 MiB allocated");
});
