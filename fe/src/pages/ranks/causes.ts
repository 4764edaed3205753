/** In which steps a cause strikes. */
export function whenText(pattern: string, steps: string): string {
  if (pattern === "") return "In the one step that is compared.";
  if (pattern === "one step") return `Only in step ${steps}.`;
  return pattern === "steady" ? "In every step." : `${pattern.charAt(0).toUpperCase()}${pattern.slice(1)}: ${steps}.`;
}
