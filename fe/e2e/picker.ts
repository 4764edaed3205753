/** Choosing a trace as a person does: open, type, Enter. */
import { expect } from "./fixtures";
import type { Scope } from "./tables";

export async function chooseTrace(scope: Scope, query: string): Promise<void> {
  await scope.getByTitle("Choose run, worker and span").click();
  const field = scope.getByRole("combobox", { name: "Find a trace" });
  await field.fill(query);
  await expect(scope.getByRole("treeitem", { selected: true })).toBeVisible();
  await field.press("Enter");
  await expect(field).toHaveCount(0);
}
