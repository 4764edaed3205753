/** Iterations: which are selected, what cuts them, and what is inside one. */
import type { Page } from "@playwright/test";

import { expect, test } from "./fixtures";
import { card } from "./tables";

const RUN = "run=kineto_resnet50_nw0";
const address = (page: Page) => decodeURIComponent(new URL(page.url()).hash);

test("a range is dragged, typed and moved by keys and wheel; ranges with names stay in the address", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}&view=iterations`);
  const first = page.getByRole("slider", { name: "First selected iteration" });
  const last = page.getByRole("slider", { name: "Last selected iteration" });
  await expect(first).toHaveAttribute("aria-valuetext", "5, 1 of 6");
  const [from, to] = [await first.boundingBox(), await last.boundingBox()];
  if (from === null || to === null) throw new Error("there are no borders");
  const barPx = (to.x - from.x - from.width) / 6;
  await page.mouse.move(from.x + from.width - 2, from.y + 40);
  await page.mouse.down();
  await page.mouse.move(from.x + from.width + 1.1 * barPx, from.y + 40, { steps: 4 });
  await expect(first).toHaveAttribute("aria-valuetext", "6, 2 of 6");
  expect(address(page)).not.toContain("steps=");
  await page.mouse.up();
  await expect.poll(() => address(page)).toContain("steps=6:10");
  await expect(page.locator('[data-fact="iterations_selected"]')).toHaveText("5");
  await last.focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => address(page)).toContain("steps=6:8");
  await last.hover();
  await page.mouse.wheel(0, -100);
  await expect.poll(() => address(page)).toContain("steps=6:9");
  const field = page.getByRole("spinbutton", { name: "First selected iteration" });
  await field.fill("8");
  await field.press("Enter");
  await expect.poll(() => address(page)).toContain("steps=8:9");
  await page.getByLabel("Keep the selection as").fill("warm; two");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Select all" }).click();
  await page.reload();
  await page.getByRole("button", { name: "Rename warm; two" }).click();
  await page.getByLabel("Another name for warm; two").fill("last");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "last", exact: true }).click();
  await expect.poll(() => address(page)).toContain("steps=8:9");
  await expect(page.getByRole("button", { name: "last", exact: true })).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("button", { name: "Remove last" }).click();
  expect(address(page)).not.toContain("aggregations=");
});

test("a key node cuts every view; one that is not there names those that are", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}&view=overview`);
  await page.getByTitle("Choose steps or a time range").click();
  await page.getByRole("button", { name: "Choose what cuts them" }).click();
  const dialog = page.getByRole("dialog", { name: "What one iteration is" });
  await dialog.getByLabel("Search").fill("aten::max_pool2d");
  await dialog.getByTitle("aten::max_pool2d", { exact: true }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator(".chip")).toHaveText("Iterations by aten::max_pool2d");
  await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: "Iterations" }).click();
  await expect(page.locator('[data-fact="iterations_total"]')).toHaveText("7");
  expect(address(page)).toContain("iterations_by=name:aten::max_pool2d");
  await page.goto(`${standalone.url}#${RUN}&view=operators&iterations_by=name:aten::convx`);
  await expect(page.getByRole("alert")).toContainText("There is no key node 'aten::convx'");
  await expect(page.getByRole("button", { name: "Iterations by aten::conv2d" })).toBeVisible();
  await page.goto(`${standalone.url}#${RUN}&view=timeline&iterations_by=name:aten::convx`);
  await page.getByRole("button", { name: "Back to steps" }).click();
  await expect(page.getByRole("alert")).toHaveCount(0);
  expect(address(page)).not.toContain("iterations_by");
  await page.goto(`${standalone.url}#${RUN}&view=iterations&steps=900`);
  await page.getByRole("button", { name: "Look at the whole trace" }).click();
  await expect(page.locator('[data-fact="iterations_selected"]')).toHaveText("6");
  await page.goto(`${standalone.url}#run=torch_compile_triton&view=iterations`);
  const cut = page.getByRole("region", { name: "How the recording was cut" });
  await expect(cut).toContainText("The trace has no ProfilerStep");
  await cut.getByRole("button", { name: "Find iterations automatically" }).click();
  await expect(cut).toContainText("0 iterations found");
});

test("from an iteration to its operators and their kernels", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#${RUN}&view=iterations`);
  await card(page, "Iterations").getByRole("row", { name: /^7 / }).getByRole("gridcell").first().click();
  const operators = card(page, "Operators of iteration 7");
  await expect(card(page, "Kernels of iteration 7")).toBeVisible();
  await operators.getByLabel("Filter Name").fill("=aten::cudnn_convolution");
  await expect(operators.getByRole("status")).toContainText("showing 53");
  const chosen = operators.locator(".grid-row.choosable").nth(1);
  await chosen.getByRole("gridcell").first().click();
  await expect(chosen).toHaveAttribute("aria-selected", "true");
  const kernels = card(page, "Kernels of aten::cudnn_convolution in iteration 7");
  await expect(kernels.locator(".grid-row.choosable")).toHaveCount(0);
  await expect(kernels).toBeVisible();
  await page.reload();
  await expect(kernels).toBeVisible();
  await kernels.getByRole("button", { name: "All kernels of the iteration" }).click();
  await expect(card(page, "Kernels of iteration 7")).toBeVisible();
  await page.goBack();
  await expect(kernels).toBeVisible();
});
