/** What to say where nothing in the trace is called as `iterations_by=` wants, or it cannot cut. */
import type { Failure } from "../../api/types";

/** Whether an answer failed for what was to cut the trace. */
export function isOfCut({ code, message }: Failure): boolean {
  return code === "unknown_key_node" || (code === "bad_parameter" && message.startsWith("iterations_by"));
}

/** Those of `names` that the hint of a failure speaks of, in its order; "Did you mean aten::mm or aten::bmm?". */
export function suggestedNames(hint: string | null, names: readonly string[]): string[] {
  const text = hint ?? "";
  const words = names.filter((name) => name !== "" && occurs(text, name));
  return words.sort((a, b) => text.indexOf(a) - text.indexOf(b));
}

/** Not as a part of a longer name. */
function occurs(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const [before = " ", after = " "] = [text[at - 1], text[at + name.length]];
    if (/\s/.test(before) && /[\s,?.]/.test(after)) return true;
  }
  return false;
}
