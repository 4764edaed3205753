/** The open menu of a button (`Popover`), which is what Escape closes first. */

/** Button and menu together. */
export const OPEN_MENU = ".anchor:has(> .popover)";

/**
 * A menu hears Escape only while the focus is on it. A click on its text takes the focus away.
 *
 * @returns Whether there was an open one.
 */
export function closeMenuElsewhere(): boolean {
  const button = document.querySelector<HTMLButtonElement>(`${OPEN_MENU} > button`);
  button?.click();
  button?.focus();
  return button !== null;
}
