/** How the rows of a view are grouped. */
import type { ViewInfo } from "../api/types";
import { navigate, useParams } from "../state/urlStore";

/** "name+input_shape" → "Name + input shape". */
export function groupByTitle(value: string): string {
  const text = value.split("+").map((part) => part.replaceAll("_", " ")).join(" + ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function GroupBySwitch({ info }: { readonly info: ViewInfo }) {
  const params = useParams();
  const [first] = info.group_bys;
  if (first === undefined || info.group_bys.length < 2) return null;
  const current = params["group_by"] ?? first;
  return (
    <span className="segmented" role="group" aria-label="Group by">
      {info.group_bys.map((value) => (
        <button
          key={value}
          type="button"
          className="button"
          aria-pressed={value === current}
          onClick={() => navigate({ group_by: value === first ? null : value })}
        >
          {groupByTitle(value)}
        </button>
      ))}
    </span>
  );
}
