/** The kernels of a sequence as the server writes them in one text. */
const ARROW = " → ";

export function kernelsOf(fullNames: string): string[] {
  return fullNames.split(ARROW).filter((name) => name !== "");
}
