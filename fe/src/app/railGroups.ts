/** Views grouped under headings, most general first. */
import type { ViewInfo } from "../api/types";

export interface RailGroup {
  /** Null for the first group. */
  readonly title: string | null;
  readonly views: readonly ViewInfo[];
}

const GROUPS: readonly (readonly [string | null, readonly string[]])[] = [
  [null, ["overview", "timeline", "compare"]],
  ["Steps", ["iterations", "phases", "critical_path", "data"]],
  ["Operators", ["operators", "operator_types", "modules", "groups", "shapes"]],
  ["Devices", ["kernels", "efficiency", "idle", "sequences", "compiled", "copies"]],
  ["Memory", ["memory", "snapshot"]],
  ["Machines", ["distributed", "resources"]],
];
const OTHERS = "More";

export function railGroups(views: readonly ViewInfo[]): RailGroup[] {
  const byName = new Map(views.map((view) => [view.name, view]));
  const grouped = GROUPS.map(([title, names]) => ({ title, views: names.flatMap((name) => byName.get(name) ?? []) }));
  const groupedNames = new Set(GROUPS.flatMap(([, names]) => names));
  const others = { title: OTHERS, views: views.filter(({ name }) => !groupedNames.has(name)) };
  return [...grouped, others].filter((group) => group.views.length > 0);
}
