/** The choice of how the rows of a view are grouped. */
import type { ViewInfo } from "../api/types";
import { navigate, useParams } from "../state/urlStore";
import { Segmented } from "../ui/Segmented";

/** "name+input_shape" → "Name + input shape". */
export function groupByTitle(value: string): string {
  const text = value.split("+").map((part) => part.replaceAll("_", " ")).join(" + ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function GroupBySwitch({ info }: { readonly info: ViewInfo }) {
  const params = useParams();
  const [first] = info.group_bys;
  if (first === undefined) return null;
  return (
    <Segmented
      label="Group by"
      values={info.group_bys}
      value={params["group_by"] ?? first}
      onPick={(value) => navigate({ group_by: value === first ? null : value })}
      title={groupByTitle}
    />
  );
}
