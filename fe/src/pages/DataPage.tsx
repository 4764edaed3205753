/** Data loading: what waited, the pipeline as a diagram, its queues over the batches. */
import { Chart } from "../chart/Chart";
import { seriesChart } from "../chart/chartData";
import { DataTable } from "../table/DataTable";
import "./data/data.css";
import { PipelineDiagram } from "./data/PipelineDiagram";
import { pipelineTree } from "./data/pipelineTree";
import { FactList } from "./Facts";
import { PageNotes } from "./PageNotes";
import { ViewFrame, type PageProps } from "./ViewFrame";

export function DataPage(props: PageProps) {
  return (
    <ViewFrame {...props}>
      {({ view, source, fileName }) => {
        const { pipeline } = view.tables;
        const last = pipeline === undefined ? [] : pipelineTree(pipeline);
        return (
          <>
            {pipeline !== undefined && last.length > 0 && <PipelineDiagram title={pipeline.title} help={pipeline.help} last={last} />}
            {Object.entries(view.series).map(([name, series]) => (
              <Chart key={name} title={series.title} chart={seriesChart(series)} fileName={fileName(name)} height={240} />
            ))}
            {Object.entries(view.tables).map(([name, table]) => (
              <DataTable
                key={name}
                name={`data.${name}`}
                table={table}
                source={source(name)}
                address={name}
                fileName={fileName(name)}
                notes={view.notes}
                maxHeight="420px"
              />
            ))}
            <FactList facts={view.facts} title="Summary" />
            <PageNotes notes={view.notes} />
          </>
        );
      }}
    </ViewFrame>
  );
}
