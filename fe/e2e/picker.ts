/** Choosing a trace as a person does: open, type, Enter. */
import { expect } from "./fixtures";
import type { Place } from "./tables";

export async function chooseTrace(place: Place, words: string): Promise<void> {
  await place.getByTitle("Choose run, worker and span").click();
  const field = place.getByRole("combobox", { name: "Find a trace" });
  await field.fill(words);
  await expect(place.getByRole("treeitem", { selected: true })).toBeVisible();
  await field.press("Enter");
  await expect(field).toHaveCount(0);
}
