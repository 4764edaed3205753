/** The table component of all pages: sort, filter, search, open rows, export; only visible rows are drawn. */
import { useId, useMemo, useState, type ReactNode } from "react";

import type { Note, Row, Table } from "../api/types";
import { parseSort, type SortKey } from "../lib/grammar";
import { NAME_KEY, SHORT_KEY } from "../lib/names";
import { unknownColumns } from "../lib/rowQuery";
import { useNameMode } from "../state/nameMode";
import { notesByKey } from "../ui/noteMarks";
import { useColumnChoices } from "./columnChoices";
import { useColumnLayout } from "./columnLayout";
import { columnViews } from "./columnView";
import { FootRow } from "./FootRow";
import { GridBody } from "./GridBody";
import type { GridItem } from "./gridLines";
import { FilterRow, TitleRow } from "./HeaderRow";
import { hiddenNow, hiddenReasons, type HiddenColumns } from "./hiddenColumns";
import { Toolbar } from "./Toolbar";
import { Tree } from "./tree";
import { useElementWidth } from "./useElementWidth";
import { allRows, useRows, type ShownRows, type TableSource } from "./useRows";
import { useTableState } from "./useTableState";

export interface DataTableProps {
  readonly name: string;
  readonly table: Table;
  /** Where more rows come from; null for tables built in the page. */
  readonly source: TableSource | null;
  /** Prefix of the table's state in the address; null for tables inside rows. */
  readonly address?: string | null;
  readonly fileName: string;
  readonly title?: ReactNode;
  /** The content of an open row. */
  readonly detail?: (row: Row) => ReactNode;
  /** The id of a row, for the address; required with `detail` and `choice`. */
  readonly rowId?: (row: Row) => string;
  /** In a tree, which rows are closed by default; none by default. */
  readonly closed?: (id: string) => boolean;
  /** Makes rows selectable by click or Enter, where the chosen one decides what else the page shows. */
  readonly choice?: RowChoice | undefined;
  readonly hiddenColumns?: HiddenColumns;
  /** Whether every column is shown at first, also one without values. */
  readonly showsAll?: boolean;
  readonly notes?: readonly Note[];
  readonly maxHeight?: string;
  readonly extra?: ReactNode;
}

export interface RowChoice {
  /** Id of the chosen row, by `rowId`; null for none. */
  readonly id: string | null;
  readonly onChoose: (row: Row) => void;
}

const NO_COLUMNS: readonly string[] = [];
const NO_REASONS: ReadonlyMap<string, string> = new Map();
/** A table of so few rows starts without filters. */
const SHORT = 12;

export function DataTable(props: DataTableProps) {
  const { table, source, address = null, detail, rowId } = props;
  const control = useTableState(address, props.name, table.sort);
  const { state } = control;
  const [measure, width] = useElementWidth();
  const gridId = useId();
  const title = typeof props.title === "string" ? props.title : table.title;
  const opens = detail !== undefined || table.tree !== null;
  const mode = useNameMode();
  const choices = useColumnChoices(address, props.name);
  const { shown: chosen } = choices[0];
  const reasons = useMemo(() => (props.showsAll === true ? NO_REASONS : hiddenReasons(props.hiddenColumns ?? NO_COLUMNS, table)), [props.hiddenColumns, props.showsAll, table]);
  const hidden = useMemo(() => hiddenNow(table, reasons, chosen), [table, reasons, chosen]);
  const views = useMemo(() => columnViews(table, opens, mode, hidden), [table, opens, mode, hidden]);
  const mainKey = parseSort(table.sort)[0]?.key ?? null;
  const layout = useColumnLayout(views, hidden, reasons, width, mainKey, choices);
  const isKnown = (named: { readonly key: string | null }) => unknownColumns(table.columns, [named]).length === 0;
  const known = state.sort.filter(isKnown);
  const isShort = mode === "short" && control.sortIsChosen && views.some(({ names }) => names !== null);
  const applied = { ...state, filter: state.filter.filter(isKnown), sort: isShort ? byShownName(known) : known };
  const shown = useRows(table, source, applied);
  const tree = useMemo(() => (table.tree === null ? null : new Tree(table, table.tree)), [table]);
  const [filtersOpen, setFiltersOpen] = useState((address !== null && table.row_count > SHORT) || state.filter.length > 0);

  const searching = applied.filter.length > 0 || state.search !== "";
  const items = treeItems(tree, shown.rows, (id) => searching || state.open.has(id) === (props.closed?.(id) ?? false)) ?? flatItems(shown, rowId, detail, state.open);
  const noteByKey = useMemo(() => notesByKey(props.notes ?? []), [props.notes]);
  const label = layout.visible.find((view) => view.column.type === "string")?.column.key ?? null;
  // The sum of a single row would repeat it.
  const hasSums = shown.total > 1 && layout.visible.some(({ column }) => column.key in shown.sums);
  const toggle = (id: string) => {
    const open = new Set(state.open);
    if (!open.delete(id)) open.add(id);
    control.setOpen(open);
  };

  return (
    // Inside a row it is not a landmark: landmarks need unique names.
    <section className="card" role={address === null ? "group" : undefined} aria-label={title} data-table={address ?? undefined}>
      <header>
        <h2 title={table.help}>{props.title ?? table.title}</h2>
        {props.extra}
        <Toolbar
          table={table}
          views={views}
          control={control}
          shown={shown}
          fileName={props.fileName}
          address={address}
          searchable={table.row_count > SHORT}
          filtersOpen={filtersOpen}
          onToggleFilters={() => setFiltersOpen(!filtersOpen)}
          layout={layout}
          reasons={reasons}
          isServed={source !== null}
          exportRows={() => allRows(table, shown, source, applied)}
        />
      </header>
      <div ref={measure}>
        <GridBody
          id={gridId}
          title={title}
          items={items}
          layout={layout}
          viewportWidth={width}
          label={label}
          mode={mode}
          matching={shown.matching}
          detail={detail}
          onToggle={toggle}
          choice={props.choice ?? null}
          more={shown.more}
          maxHeight={props.maxHeight ?? "calc(100vh - 120px)"}
          head={
            <>
              <TitleRow layout={layout} control={control} noteByKey={noteByKey} />
              {filtersOpen && <FilterRow columns={layout.visible} widths={layout.widths} control={control} rejection={shown.problem} />}
            </>
          }
          headRows={filtersOpen ? 2 : 1}
          foot={hasSums ? (rowIndex) => <FootRow layout={layout} shown={shown} label={label} mainKey={mainKey} rowIndex={rowIndex} /> : null}
          empty={shown.problem ?? emptyText(table, searching)}
        />
      </div>
    </section>
  );
}

function emptyText(table: Table, searching: boolean): string {
  if (searching && table.row_count > 0) return "No row matches the filter.";
  return table.why_empty ?? "No rows in this selection.";
}

/** Sorting by name sorts by the name that is shown. */
function byShownName(sort: readonly SortKey[]): SortKey[] {
  return sort.flatMap((key) => (key.key === NAME_KEY ? [{ ...key, key: SHORT_KEY }, key] : [key]));
}

function treeItems(
  tree: Tree | null,
  rows: readonly Row[],
  // While filtering all matches are visible; otherwise the address holds the ids that differ from the default.
  isOpen: (id: string) => boolean,
): GridItem[] | null {
  if (tree === null) return null;
  return tree.flatten(rows, isOpen).map((item) => ({
    row: item.row,
    id: item.id,
    depth: item.depth,
    expander: item.hasChildren ? (isOpen(item.id) ? "open" : "closed") : "none",
    detailOpen: false,
    position: item.position,
    siblings: item.siblings,
  }));
}

function flatItems(
  { rows, matching }: ShownRows,
  rowId: ((row: Row) => string) | undefined,
  detail: ((row: Row) => ReactNode) | undefined,
  open: ReadonlySet<string>,
): GridItem[] {
  return rows.map((row, index) => {
    const id = rowId?.(row) ?? String(index);
    const isOpen = detail !== undefined && open.has(id);
    const expander = detail === undefined ? null : isOpen ? "open" : "closed";
    return { row, id, depth: 0, expander, detailOpen: isOpen, position: index + 1, siblings: matching };
  });
}
