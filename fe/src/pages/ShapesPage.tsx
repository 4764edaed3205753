/** Input shapes of operators over the iterations, or in one of them. */
import type { View } from "../api/types";
import { hasColumn, textOf } from "../lib/rows";
import { adjust, useParams } from "../state/urlStore";
import { PEAK_KEY, storedPeaks } from "./efficiency/peak";
import { GenericBody, type RowDetails } from "./GenericPage";
import { OperatorCurve } from "./shapes/OperatorCurve";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

/** Parameter of the address with the chosen iteration, shared with the page of the iterations. */
const CHOSEN = "iteration";

/** The tables whose rows open into the curve of what they are about, and the column that names it. */
const CURVED = [
  { name: "types", column: "type" },
  { name: "instances", column: "name" },
] as const;

export function ShapesPage(props: PageProps) {
  const { [CHOSEN]: chosen, [PEAK_KEY]: peak = storedPeaks({ run: props.target.run.name }) } = useParams() as Record<string, string | undefined>;
  return (
    <ViewFrame {...props} extra={{ [CHOSEN]: chosen, [PEAK_KEY]: peak }}>
      {(context) => (
        <>
          <IterationField names={iterationsOf(context.view)} chosen={chosen ?? null} />
          <GenericBody {...context} details={Object.fromEntries(CURVED.flatMap((each) => curvesOf(context, each)))} />
        </>
      )}
    </ViewFrame>
  );
}

function curvesOf(context: ViewContext, { name, column }: (typeof CURVED)[number]): (readonly [string, RowDetails])[] {
  const table = context.view.tables[name];
  if (table === undefined) return [];
  return [
    [
      name,
      {
        rowId: (row) => ROW_ID.map((key) => textOf(table, row, key)).join(" ").trim(),
        detail: (row) => <OperatorCurve context={context} table={name} column={column} name={textOf(table, row, column)} />,
      },
    ],
  ];
}

const ROW_ID = ["name", "type", "iteration", "input_shapes"];

function IterationField({ names, chosen }: { readonly names: readonly string[]; readonly chosen: string | null }) {
  const all = chosen === null || names.includes(chosen) ? names : [chosen, ...names];
  if (all.length < 2) return null;
  return (
    <label className="no-print">
      Shapes at iteration{" "}
      <select className="field" value={chosen ?? ""} onChange={({ target }) => adjust({ [CHOSEN]: target.value === "" ? null : target.value })}>
        <option value="">all</option>
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The names of the iterations in the view, in order. */
function iterationsOf({ tables }: View): string[] {
  const table = Object.values(tables).find((each) => each.columns[0]?.key === "iteration" && hasColumn(each, "new_shapes"));
  if (table === undefined) return [];
  return table.rows.map((row) => textOf(table, row, "iteration")).filter((name) => name !== "");
}
