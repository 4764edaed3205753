/** How the job is divided among its ranks: the matrix of ranks, the pipeline, and what each dimension costs. */
import { navigate, useParams } from "../state/urlStore";
import { PageNotes } from "./PageNotes";
import { FoldedTable, PageTable } from "./PageTable";
import { RankMatrix } from "./rankMatrix/RankMatrix";
import { PipelineChart } from "./strategy/PipelineChart";
import { matrixRanks, measuresOf } from "./strategy/ranks";
import "./strategy/strategy.css";
import { StrategyForm } from "./strategy/StrategyForm";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

const PARALLEL_KEY = "parallel";
const MEASURE_KEY = "measure";
const TABLES = ["dimensions", "bubbles", "groups", "recorded_strategy"];
/** What the pictures above show, in numbers. */
const FOLDED = ["matrix_lines", "rank_matrix", "pipeline"];

export function StrategyPage(props: PageProps) {
  const params = useParams();
  const given = params[PARALLEL_KEY] ?? null;
  return (
    <ViewFrame
      {...props}
      longTable={null}
      extra={{ [PARALLEL_KEY]: given, [MEASURE_KEY]: params[MEASURE_KEY] }}
      above={<StrategyForm given={given} onChange={(text) => navigate({ [PARALLEL_KEY]: text })} />}
    >
      {(context) => <StrategyBody {...context} />}
    </ViewFrame>
  );
}

function StrategyBody(context: ViewContext) {
  const { view, fileName } = context;
  const params = useParams();
  const { rank_matrix: ranks, pipeline } = view.tables;
  const measures = ranks === undefined ? null : measuresOf(ranks);
  const chosen = measures?.get(params[MEASURE_KEY] ?? "") ?? measures?.values().next().value;
  const open = (worker: string) => navigate({ view: "overview", worker });
  return (
    <>
      {ranks !== undefined && measures !== null && chosen !== undefined && (
        <RankMatrix
          title="Ranks"
          help={ranks.help}
          ranks={matrixRanks(ranks, chosen.key)}
          measure={{ title: chosen.title, unit: chosen.unit, help: chosen.help }}
          fileName={fileName("rank_matrix")}
          nullReason={ranks.null_reasons[chosen.key]}
          onOpen={open}
          extra={
            <select className="field no-print" aria-label="Measure" value={[...measures].find(([, column]) => column === chosen)?.[0]} onChange={({ target }) => navigate({ [MEASURE_KEY]: target.value })}>
              {[...measures].map(([name, { title }]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          }
        />
      )}
      {pipeline !== undefined && <PipelineChart table={pipeline} fileName={fileName("pipeline")} onOpen={open} />}
      {TABLES.map((name) => (
        <PageTable key={name} context={context} name={name} hideEmpty />
      ))}
      {FOLDED.map((name) => (
        <FoldedTable key={name} context={context} name={name} />
      ))}
      <PageNotes notes={view.notes} />
    </>
  );
}
