/** The choice of how the rows of a view are grouped. */
import type { ViewInfo } from "../api/types";
import { navigate, useParams } from "../state/urlStore";
import { Segmented } from "../ui/Segmented";
import { tabParams, type PageTab } from "./pages";

/** "name+input_shape" → "Name + input shape". */
export function groupByTitle(value: string): string {
  const text = value.split("+").map((part) => part.replaceAll("_", " ")).join(" + ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

interface Props {
  readonly info: ViewInfo;
  /** The shown tab, which may have some of the groupings only. */
  readonly tab?: PageTab | undefined;
}

export function GroupBySwitch({ info, tab }: Props) {
  const params = useParams();
  const [first] = info.group_bys;
  if (first === undefined) return null;
  const its = tab?.groupBys;
  // A tab that has every grouping is named, as another one may be the tab of the grouping alone.
  const named = tab !== undefined && its === undefined ? tabParams(tab) : {};
  return (
    <Segmented
      label="Group by"
      values={info.group_bys.filter((each) => its?.includes(each) !== false && (each === params["group_by"] || !(each in info.missing_group_bys)))}
      value={params["group_by"] ?? first}
      onPick={(value) => navigate({ ...named, group_by: value === first ? null : value })}
      title={groupByTitle}
    />
  );
}
