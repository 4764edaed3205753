/** A query in one line, for lists and titles. */
import { visibleText } from "../../lib/visibleText";

export function firstWords(query: string, characters = 90): string {
  const line = visibleText(query.replace(/\s+/g, " ").trim());
  return line.length <= characters ? line : `${line.slice(0, characters - 1)}…`;
}
