/** Views under headings, so that who is new finds them: what a person asks first stands first. */
import type { ViewInfo } from "../api/types";

export interface RailGroup {
  /** Null for the first, which needs none. */
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
  const of = new Map(views.map((view) => [view.name, view]));
  const grouped = GROUPS.map(([title, names]) => ({ title, views: names.flatMap((name) => of.get(name) ?? []) }));
  const placed = new Set(GROUPS.flatMap(([, names]) => names));
  const others = { title: OTHERS, views: views.filter(({ name }) => !placed.has(name)) };
  return [...grouped, others].filter((group) => group.views.length > 0);
}
