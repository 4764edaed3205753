/** Memory: what is alive at a moment that is clicked on the curve or typed. */
import { card } from "./tables";
import { expect, test } from "./fixtures";

test("a click on the curve and a typed time list the live allocations", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=memory`);
  const moment = card(page, "Live allocations at a moment");
  await expect(moment.getByText("the peak")).toBeVisible();
  await expect(moment.getByText(/allocated$/)).toHaveText("1.66 MiB allocated");
  await page.getByRole("img", { name: /Memory by category/ }).click({ position: { x: 500, y: 150 } });
  await expect(page).toHaveURL(/at_us=\d+/);
  await expect(moment.getByRole("button", { name: "At the peak" })).toBeVisible();
  await expect(page.locator("main [aria-busy=true]")).toHaveCount(0); // the field has the clicked moment
  await moment.getByLabel(/^at/).fill("soon");
  await moment.getByRole("button", { name: "Show" }).click();
  await expect(moment.getByRole("alert")).toBeVisible();
  await moment.getByLabel(/^at/).fill("800 us");
  await moment.getByRole("button", { name: "Show" }).click();
  await expect(moment.getByLabel(/^at/)).toHaveValue("0.8");
  await moment.getByRole("button", { name: "At the peak" }).click();
  await expect(moment.getByText(/allocated$/)).toHaveText("1.66 MiB allocated");
});
