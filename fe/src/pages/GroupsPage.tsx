/** Groups: modules, user ranges or call stacks as a flame graph and a tree, with equal siblings optionally folded. */
import type { Row, Table, View } from "../api/types";
import { formatValue } from "../lib/format";
import { cellOf, numberOf, textOf } from "../lib/rows";
import { visibleText } from "../lib/visibleText";
import { adjust, navigate, useParams } from "../state/urlStore";
import { DataTable } from "../table/DataTable";
import { ShowOnTimeline } from "../timeline/ShowOnTimeline";
import { Segmented } from "../ui/Segmented";
import { EmptySelection } from "./EmptySelection";
import { BigFacts } from "./Facts";
import { FlameGraph } from "./FlameGraph";
import { groupByTitle } from "./GroupBySwitch";
import { operatorsOf, sliceNameOf, type Hierarchy } from "./groups/groupLinks";
import { NestedView } from "./NestedView";
import { PageNotes } from "./PageNotes";
import { ViewFrame, type PageProps, type ViewContext } from "./ViewFrame";

export function GroupsPage(props: PageProps) {
  return (
    // A tree needs all ancestors of its rows.
    <ViewFrame {...props} longTable={null}>
      {(context) => (
        <>
          <Choices view={context.view} />
          <BigFacts facts={context.view.facts.filter(({ value }) => value !== null)} notes={context.view.notes} />
          <Groups context={context} />
          <PageNotes notes={context.view.notes} />
        </>
      )}
    </ViewFrame>
  );
}

interface Choice {
  readonly hierarchy: Hierarchy;
  readonly domain: string;
}

function choicesOf(view: View): { all: readonly Choice[]; shown: Choice | undefined } {
  const table = view.tables["hierarchies"];
  const rows = table?.rows ?? [];
  const read = (row: Row): Choice => ({ hierarchy: textOf(table as Table, row, "hierarchy") as Hierarchy, domain: textOf(table as Table, row, "domain") });
  const shown = rows.find((row) => cellOf(table as Table, row, "shown") === true);
  return { all: rows.map(read), shown: shown === undefined ? undefined : read(shown) };
}

/** Clears the chosen rows, which other groupings do not have. */
const NO_CHOICE = { group: null, focus: null };

function Choices({ view }: { readonly view: View }) {
  const { all, shown } = choicesOf(view);
  if (shown === undefined) return null;
  const kinds = [...new Set(all.map(({ hierarchy }) => hierarchy))];
  const domains = all.filter(({ hierarchy }) => hierarchy === shown.hierarchy).map(({ domain }) => domain);
  if (kinds.length < 2 && domains.length < 2) return null;
  return (
    <div className="page-head">
      <Segmented
        label="Group by"
        values={kinds}
        value={shown.hierarchy}
        onPick={(value) => navigate({ ...NO_CHOICE, group_by: value, domain: null })}
        title={groupByTitle}
      />
      <Segmented label="Domain" values={domains} value={shown.domain} onPick={(value) => navigate({ ...NO_CHOICE, group_by: shown.hierarchy, domain: value })} title={domainTitle} />
    </div>
  );
}

function domainTitle(domain: string): string {
  return `Domain ${visibleText(domain)}`;
}

const FOLDED = "folded";
const UNFOLDED = "each";
/** Redundant: the names of work outside all groups show it. */
const ALWAYS_HIDDEN = new Set(["kind"]);
/** All zero without communication. */
const COMMUNICATION = "communication_us";
/** With one iteration, total, mean, minimum and maximum are equal. */
const PER_ITERATION = /^(iterations|(cpu|gpu)_(mean|min|max)_us)$/;

function hiddenIn(view: View, isFolded: boolean): (key: string) => boolean {
  const isOne = view.facts.find(({ key }) => key === "iterations")?.value === 1;
  const groups = view.tables["groups"];
  const communicates = groups?.rows.some((row) => (numberOf(groups, row, COMMUNICATION) ?? 0) > 0) ?? false;
  return (key) => ALWAYS_HIDDEN.has(key) || (!isFolded && isOne && PER_ITERATION.test(key)) || (key === COMMUNICATION && !communicates);
}

function Groups({ context }: { readonly context: ViewContext }) {
  const { view, source, fileName } = context;
  const params = useParams();
  const { shown } = choicesOf(view);
  const [whole, folded, flame] = [view.tables["groups"], view.tables["folded_groups"], view.tables["group_flame"]];
  if (whole === undefined || folded === undefined || shown === undefined) return null;
  if (whole.row_count === 0) return <EmptySelection noun="group" />;
  const canFold = folded.row_count < whole.row_count;
  const isFolded = canFold && params["fold"] === FOLDED;
  const table = isFolded ? folded : whole;
  const name = isFolded ? "folded_groups" : "groups";
  const chosen = table.rows.find((row) => textOf(table, row, "path") === params["group"]);
  return (
    <>
      {flame !== undefined && flame.rows.length > 0 && <FlameGraph table={flame} fileName={fileName("flame")} />}
      <DataTable
        key={`${name} ${shown.hierarchy} ${shown.domain}`}
        name={`groups.${name}`}
        table={table}
        source={source(name)}
        address={name}
        fileName={fileName(name)}
        notes={view.notes}
        title="Groups"
        rowId={(row) => textOf(table, row, "path")}
        choice={{
          id: chosen === undefined ? null : textOf(table, chosen, "path"),
          onChoose: (row) => adjust({ group: row === chosen ? null : textOf(table, row, "path") }),
        }}
        hiddenColumns={hiddenIn(view, isFolded)}
        maxHeight={chosen === undefined ? undefined : "45vh"}
        closed={shown.hierarchy === "call_stacks" ? smallOf(table) : undefined}
        extra={
          canFold && (
            <Segmented
              label="Equal siblings"
              values={[UNFOLDED, FOLDED]}
              value={isFolded ? FOLDED : UNFOLDED}
              onPick={(value) => adjust({ fold: value === FOLDED ? FOLDED : null, group: null })}
              title={(value) => (value === FOLDED ? "Equal siblings folded" : "Each sibling")}
            />
          )
        }
      />
      {chosen !== undefined && <ChosenGroup context={context} table={table} row={chosen} hierarchy={shown.hierarchy} />}
    </>
  );
}

/** Frames with a smaller share of the CPU time are closed by default. */
const MIN_SHARE = 0.05;

function smallOf(table: Table): (id: string) => boolean {
  const max = Math.max(...table.rows.map((row) => numberOf(table, row, "cpu_total_us") ?? 0));
  const small = new Set(table.rows.filter((row) => (numberOf(table, row, "cpu_total_us") ?? 0) < MIN_SHARE * max).map((row) => textOf(table, row, "path")));
  return (id) => small.has(id);
}

interface ChosenProps {
  readonly context: ViewContext;
  readonly table: Table;
  readonly row: Row;
  readonly hierarchy: Hierarchy;
}

/** The operators below the chosen group. */
function ChosenGroup({ context, table, row, hierarchy }: ChosenProps) {
  // A folded row is represented by its outlier.
  const path = textOf(table, row, "odd_one") || textOf(table, row, "path");
  const isFolded = (numberOf(table, row, "members") ?? 1) > 1;
  const name = isFolded ? (path.split(hierarchy === "call_stacks" ? ";" : "/").at(-1) ?? path) : textOf(table, row, "name");
  const isOutside = textOf(table, row, "kind") === "outside";
  const operators = isFolded && textOf(table, row, "odd_one") === "" ? null : operatorsOf(hierarchy, path, name, isOutside);
  const slices = sliceNameOf(hierarchy, name, isOutside);
  return (
    <section className="card" aria-label="Chosen group">
      <header>
        <h2>{visibleText(name)}</h2>
        <span style={{ flex: 1 }} />
        {slices !== null && <ShowOnTimeline name={slices} />}
        <button type="button" className="button" onClick={() => adjust({ group: null })}>
          Close
        </button>
      </header>
      <div className="body">
        <MostlyCommunication table={table} row={row} />
        {operators === null || !context.hasView("operators") ? (
          <p className="soft">Its operators cannot be separated from those of other groups: unfold it, or see the rows below it.</p>
        ) : (
          <NestedView
            context={context}
            view="operators"
            table="operators"
            title="Operators in this group"
            groupBy={operators.groupBy}
            filter={operators.filter}
            owner={name}
            hidden={["cumulative_pct", "call_stack", "input_shape"]}
            emptyText="No operator of this group ran in this selection."
          />
        )}
      </div>
    </section>
  );
}

/** What a group computes is the rest of its device time. */
const MOSTLY = 0.5;

function MostlyCommunication({ table, row }: { readonly table: Table; readonly row: Row }) {
  const [moved, gpu] = [numberOf(table, row, COMMUNICATION) ?? 0, numberOf(table, row, "gpu_total_us") ?? 0];
  if (moved === 0 || moved <= MOSTLY * gpu) return null;
  const part = moved < gpu ? `${formatValue(moved, "us")} of its ${formatValue(gpu, "us")} on the device` : `All of its ${formatValue(gpu, "us")} on the device`;
  return <p role="note">{part} are communication that was launched in it{moved < gpu && "; the group itself computes for the rest"}.</p>;
}
