/** The page Phases: a step as a diagram, its borders in the address, inference without a claim of backward. */
import { card } from "./tables";
import { expect, test } from "./fixtures";

test("phases: the mean step, one step, and boundaries in the address", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=phases`);
  const diagram = page.getByRole("figure", { name: "Mean step" });
  await expect(diagram.getByRole("row", { name: /^Backward/ })).toContainText("59.5 ms");
  await page.getByRole("button", { name: "Step 3", exact: true }).click();
  const third = page.getByRole("figure", { name: "Step 3" });
  await expect(third.getByRole("row", { name: /^Forward/ })).toContainText("6.21 ms");
  await expect(page).toHaveURL(/step=3/);
  await expect(card(page, "How the phases were detected")).toContainText("calls of root modules (10)");
  await page.getByText("Phase boundaries").click();
  const field = page.getByRole("combobox", { name: "Forward begins with" });
  await field.fill("aten::cross_entropy_loss");
  await field.press("Enter");
  await expect(page).toHaveURL(/forward_start=aten/);
  await expect(third.getByRole("row", { name: /^Forward/ })).not.toContainText("6.21 ms");
  await page.reload();
  await expect(page.getByRole("combobox", { name: "Forward begins with" })).toHaveValue("aten::cross_entropy_loss");
  await page.getByRole("button", { name: "Reset boundaries" }).click();
  await expect(third.getByRole("row", { name: /^Forward/ })).toContainText("6.21 ms");
  await page.goto(`${standalone.url}#run=cpu_resnet_full&view=overview&phase=backward`);
  await expect(page.getByRole("note")).toContainText("the phase backward does not apply to it");
});

test("phases: inference has no backward pass, and says why; collectives are in the diagram", async ({ guarded: page, standalone }) => {
  await page.goto(`${standalone.url}#run=h100_bert_small&view=phases`);
  const backward = page.getByRole("figure").getByRole("row", { name: /^Backward/ });
  await expect(backward.getByRole("cell").first()).toHaveText("–");
  await expect(backward.getByRole("cell").first()).toHaveAttribute("title", /inference/);
  await page.goto(`${standalone.url}#run=dlrm_8_ranks&view=phases`);
  await expect(page.getByRole("figure").getByRole("row", { name: /^Communication Exposed/ })).toContainText("4.58 ms");
});
