/** The roles of a job: who works and who waits over time, what each role costs, and the tail of generations. */
import { chartCsv } from "../chart/csv";
import { seriesChart } from "../chart/chartData";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { PageNotes } from "./PageNotes";
import { FoldedTable, PageTable } from "./PageTable";
import { RoleLanes } from "./roles/RoleLanes";
import { lanesOf } from "./roles/lanes";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function RolesPage(props: PageProps) {
  return (
    <ViewFrame {...props} longTable="role_periods" rows={2000}>
      {(context) => {
        const { view, fileName } = context;
        const lanes = lanesOf(view);
        const series = view.series["rank_activity"] ?? view.series["role_activity"];
        return (
          <>
            <BigFacts facts={view.facts} notes={view.notes} />
            {lanes === null ? <EmptySelection noun="role" /> : series !== undefined && <RoleLanes lanes={lanes} fileName={fileName("roles")} csv={() => chartCsv(seriesChart(series))} />}
            <PageTable context={context} name="roles" />
            <PageTable context={context} name="generations" hideEmpty />
            <FoldedTable context={context} name="role_periods" />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}
