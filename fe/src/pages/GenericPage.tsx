/** Any view: its findings, facts, charts and tables, as they come. */
import { GenericBody } from "./GenericBody";
import { GroupBySwitch } from "./GroupBySwitch";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function GenericPage(props: PageProps) {
  return (
    <ViewFrame {...props} head={<GroupBySwitch info={props.info} />}>
      {(context) => <GenericBody {...context} />}
    </ViewFrame>
  );
}
