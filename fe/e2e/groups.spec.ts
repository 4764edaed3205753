/** Groups: hierarchies, equal siblings folded, the operators of a group, and groups as tracks of the timeline. */
import { card, header } from "./tables";
import { expect, test } from "./fixtures";
import { settled } from "./timelines";

test("groups: hierarchy and domain, equal siblings folded, the operators of one group", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=groups`);
  const table = card(page, "Groups");
  await expect(table.getByTitle("BertLayer_0", { exact: true })).toBeVisible();
  await expect(page.locator('[data-fact="gpu_time_outside_pct"]')).toHaveText("0 %");
  await page.getByRole("button", { name: "Equal siblings folded" }).click();
  await expect(table.getByTitle("BertLayer ×4", { exact: true })).toBeVisible();
  await expect(await header(table, "Outlier Deviation")).toBeVisible();
  await page.reload();
  await expect(table.getByTitle("BertLayer_0", { exact: true })).toHaveCount(0);
  await table.getByTitle("BertLayer ×4", { exact: true }).click();
  const chosen = card(page, "Chosen group");
  await expect(chosen.getByTitle(/BertLayer_\d\/.*aten::/).first()).toBeVisible();
  await chosen.getByRole("link", { name: "Show on timeline" }).click();
  await expect(page).toHaveURL(/view=timeline.*find=.*BertLayer_/);
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=groups`);
  await page.getByRole("group", { name: "Group by" }).getByRole("button", { name: "Ranges" }).click();
  await expect(table.getByTitle("Optimizer.step#SGD.step", { exact: true })).toBeVisible();
  await expect(page).toHaveURL(/group_by=ranges/);
});

test("groups as tracks of the timeline by level", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=timeline`);
  await settled(page);
  await expect(page.getByText("Groups by level")).toHaveCount(0);
  await page.getByRole("button", { name: "Levels ▾" }).click();
  const titleBeforeField = (label: Element) => {
    const title = document.createRange();
    title.selectNode(label.firstChild ?? label);
    return title.getBoundingClientRect().right <= (label.querySelector("select")?.getBoundingClientRect().left ?? 0);
  };
  expect(await page.locator(".tl-levels").first().evaluate(titleBeforeField)).toBe(true);
  await page.getByLabel("Modules shown").selectOption("3");
  await expect(page).toHaveURL(/levels=modules:3/);
  await expect(page.getByText("Groups by level")).toBeVisible();
  await expect(page.getByText("on GPU 0")).toBeVisible();
});
