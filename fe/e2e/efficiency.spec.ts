/** Efficiency: the roofline and its rows, and peaks that the user gives. */
import { faults, contrastFaults } from "./audit";
import { card } from "./tables";
import { expect, test } from "./fixtures";

test("a point of the roofline chooses its row, and a row its point", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=efficiency`);
  const plot = page.getByRole("listbox", { name: /roofline/ });
  await plot.locator('[data-point="aten::addmm"]').click();
  await expect(page).toHaveURL(/row=aten::addmm/);
  const rows = card(page, "Efficiency of operators").locator(".grid-row");
  await expect(rows.filter({ hasText: "aten::addmm" })).toHaveAttribute("aria-selected", "true");
  await rows.filter({ hasText: "aten::gelu" }).click();
  await expect(plot.locator('[data-point="aten::gelu"]')).toHaveAttribute("aria-selected", "true");
  await plot.focus();
  await page.keyboard.press("ArrowLeft");
  await expect(plot.locator('[data-point="aten::gelu"]')).toHaveAttribute("aria-selected", "false");
  expect([...(await faults(page)), ...(await contrastFaults(page))]).toEqual([]);
});

test("the user's peak values are used, and restored at another address", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=efficiency`);
  const form = page.locator(".peak-form");
  await form.locator("summary").click();
  await form.getByLabel("bfloat16").fill("-5");
  await form.getByRole("button", { name: "Apply" }).click();
  await expect(form.getByRole("alert")).toContainText("above 0");
  await form.getByLabel("bfloat16").fill("100");
  await form.getByRole("button", { name: "Apply" }).click();
  await expect(page.locator('[data-fact="peak_tflops"]')).toHaveText("100");
  await page.goto(`${standalone.url}#run=h100_bert_small&view=kernels`);
  await page.goto(`${standalone.url}#run=h100_bert_small&view=efficiency`);
  await expect(page.locator('[data-fact="peak_tflops"]')).toHaveText("100");
  // Another run on the same device starts with them, and its address says so.
  await page.evaluate(() => localStorage.removeItem("pytorch_profiler.peak.h100_bert_small"));
  await page.goto(`${standalone.url}#run=h100_bert_small&view=kernels`);
  await page.goto(`${standalone.url}#run=h100_bert_small&view=efficiency`);
  await expect(page).toHaveURL(/peak=bfloat16/);
  await expect(page.locator('[data-fact="peak_tflops"]')).toHaveText("100");
  // Another device does not use them.
  await page.evaluate(() => {
    location.hash = location.hash.replace("run=h100_bert_small", "run=mi300_bert_small").replace(/&peak=[^&]*/, "");
  });
  await expect(page.locator('[data-fact="peak_tflops"]')).toHaveText(/^1.307$/);
  await page.goBack();
  await page.getByText("Your peak values").click();
  await page.getByRole("button", { name: "Use the vendor’s values" }).click();
  await expect(page.locator('[data-fact="peak_tflops"]')).toHaveText("989");
});
