/** The operators of the chosen iteration, and the kernels of all of them or of one. */
import type { Query } from "../../api/client";
import { useView } from "../../api/hooks";
import type { Row, Table } from "../../api/types";
import { textOf } from "../../lib/rows";
import { shortenMiddle } from "../../lib/shorten";
import { visibleText } from "../../lib/visibleText";
import { navigate, useParams } from "../../state/urlStore";
import { DataTable, type RowChoice } from "../../table/DataTable";
import { PAGE_ROWS } from "../../table/useRows";
import type { ViewContext } from "../ViewFrame";

const OPERATORS = "iteration_operators";
const KERNELS = "iteration_kernels";
const NAME_CHARACTERS = 60;
/** The same in every row. */
const OF_THE_ITERATION = ["iteration"];
/** The table of operators above has these. */
const OF_OPERATORS = ["direction", "type"];
const OF_ALL_OPERATORS = [...OF_THE_ITERATION, ...OF_OPERATORS];
const OF_THE_OPERATOR = ["iteration", "operator_id", "operator", ...OF_OPERATORS];

export function ChosenTables({ context }: { readonly context: ViewContext }) {
  const { iteration, operator_id: operatorId } = useParams() as Record<string, string | undefined>;
  if (iteration === undefined) {
    return <p className="soft">Choose an iteration, by its row or its bar, to see its operators and kernels.</p>;
  }
  const inside = { ...context.query, iteration };
  const named = visibleText(iteration);
  if (isMissing(context.view.tables["iterations"], iteration)) {
    return (
      <p role="alert" className="choices">
        There is no iteration “{named}”.
        <button type="button" className="button" onClick={() => navigate({ iteration: null, operator_id: null })}>
          Clear the choice
        </button>
      </p>
    );
  }
  return (
    <>
      <Part
        context={context}
        name={OPERATORS}
        query={inside}
        title={`Operators of iteration ${named}`}
        hidden={OF_THE_ITERATION}
        choice={(table) => ({
          id: operatorId ?? null,
          onChoose: (row) => {
            const id = textOf(table, row, "operator_id");
            navigate({ operator_id: id === operatorId ? null : id });
          },
        })}
        rowId={(table, row) => textOf(table, row, "operator_id")}
      />
      <Kernels context={context} query={{ ...inside, operator_id: operatorId }} iteration={named} />
    </>
  );
}

/** Whether the completely loaded table lacks the iteration; otherwise the server reports it. */
function isMissing(table: Table | undefined, iteration: string): boolean {
  return table !== undefined && table.rows.length === table.row_count && !table.rows.some((row) => textOf(table, row, "iteration") === iteration);
}

interface KernelsProps {
  readonly context: ViewContext;
  readonly query: Query;
  readonly iteration: string;
}

function Kernels({ context, query, iteration }: KernelsProps) {
  const operatorId = query["operator_id"];
  const isOfOne = typeof operatorId === "string";
  return (
    <Part
      key={isOfOne ? "of one" : "of all"}
      context={context}
      name={KERNELS}
      query={query}
      title={(table) => {
        const first = table.rows[0];
        const operator = isOfOne ? shortenMiddle(visibleText((first === undefined ? "" : textOf(table, first, "operator")) || operatorId), NAME_CHARACTERS) : null;
        return operator === null ? `Kernels of iteration ${iteration}` : `Kernels of ${operator} in iteration ${iteration}`;
      }}
      hidden={isOfOne ? OF_THE_OPERATOR : OF_ALL_OPERATORS}
      extra={
        isOfOne && (
          <button type="button" className="button" onClick={() => navigate({ operator_id: null })}>
            All kernels of the iteration
          </button>
        )
      }
    />
  );
}

interface PartProps {
  readonly context: ViewContext;
  readonly name: string;
  readonly query: Query;
  readonly title: string | ((table: Table) => string);
  readonly hidden: readonly string[];
  readonly extra?: React.ReactNode;
  readonly choice?: (table: Table) => RowChoice;
  readonly rowId?: (table: Table, row: Row) => string;
}

/** One table of the view, requested separately. */
function Part({ context, name, query, title, hidden, extra, choice, rowId }: PartProps) {
  const tableQuery = { ...query, only: name };
  const answer = useView(context.info.name, { ...tableQuery, table: name, limit: PAGE_ROWS });
  const view = answer.state === "ready" ? answer.data : answer.state === "loading" ? answer.last : null;
  const table = view?.tables[name];
  if (answer.state === "failed") return <p role="alert">{visibleText(answer.failure.message)}</p>;
  if (table === undefined) return <p className="soft">Loading …</p>;
  return (
    <div className={answer.state === "loading" ? "stale" : undefined} aria-busy={answer.state === "loading"}>
      <DataTable
        name={`iterations.${name}`}
        table={table}
        source={{ view: context.info.name, table: name, query: tableQuery }}
        address={name}
        title={typeof title === "string" ? title : title(table)}
        fileName={context.fileName(name)}
        notes={context.view.notes}
        hiddenColumns={hidden}
        choice={choice?.(table)}
        rowId={rowId === undefined ? undefined : (row) => rowId(table, row)}
        extra={extra}
        maxHeight="360px"
      />
    </div>
  );
}
