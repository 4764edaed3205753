/** Recognizes failures of `iterations_by=`, and the names that their hints suggest. */
import type { Failure } from "../../api/types";

/** Whether a request failed because of its `iterations_by`. */
export function isIterationsByFailure({ code, message }: Failure): boolean {
  return code === "unknown_key_node" || (code === "bad_parameter" && message.startsWith("iterations_by"));
}

/** Those of `names` that the hint of a failure mentions, in its order: "Did you mean aten::mm or aten::bmm?". */
export function suggestedNames(hint: string | null, names: readonly string[]): string[] {
  const text = hint ?? "";
  const mentioned = names.filter((name) => name !== "" && occurs(text, name));
  return mentioned.sort((a, b) => text.indexOf(a) - text.indexOf(b));
}

/** Whether `name` occurs, but not as part of a longer name. */
function occurs(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const [before = " ", after = " "] = [text[at - 1], text[at + name.length]];
    if (/\s/.test(before) && /[\s,?.]/.test(after)) return true;
  }
  return false;
}
