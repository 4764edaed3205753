/** Links from a group to its operators and slices: names and filters for other views. */
import { formatFilter, type Clause } from "../../lib/grammar";

export type Hierarchy = "modules" | "ranges" | "call_stacks";

export const OUTSIDE = "unassociated_";
/** Names of modules in a recording of Python frames. */
const MODULE_PREFIX = "nn.Module: ";

export interface OperatorsOf {
  readonly groupBy: string;
  readonly filter: string;
}

/** The rows of the operators below a group; null when they cannot be identified. */
export function operatorsOf(hierarchy: Hierarchy, path: string, name: string, isOutside: boolean): OperatorsOf | null {
  if (isOutside) return { groupBy: "name", filter: written({ key: "name", operator: "=", value: name.slice(OUTSIDE.length) }) };
  if (hierarchy === "call_stacks") return { groupBy: "name+call_stack", filter: written({ key: "call_stack", operator: "~", value: name }) };
  // Siblings with the same name have an id, which paths of operators lack; a truncated path begins with an ellipsis.
  const known = hierarchy === "modules" ? path.replace(/#\d+(?=\/|$)/g, "") : name;
  if (known.startsWith("…")) return null;
  return { groupBy: "path", filter: written({ key: "name", operator: "~", value: `/${known}/` }) };
}

function written(clause: Clause): string {
  return formatFilter([clause]);
}

/** The name of the slices of a group; null when it has none. */
export function sliceNameOf(hierarchy: Hierarchy, name: string, isOutside: boolean): string | null {
  if (isOutside) return name === `${OUTSIDE}others` ? null : name.slice(OUTSIDE.length);
  return hierarchy === "modules" ? `${MODULE_PREFIX}${name}` : name;
}
