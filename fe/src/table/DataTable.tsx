/** The one table of the application: sorted, filtered, searched, opened, exported; only rows in sight are drawn. */
import { useId, useMemo, useState, type ReactNode } from "react";

import type { Note, Row, Table } from "../api/types";
import { notedKeys } from "../app/noteMarks";
import { boundsOf, isBound } from "../lib/bounds";
import { unknownColumns } from "../lib/rowQuery";
import { GridBody, type GridItem } from "./GridBody";
import { columnViews } from "./columnView";
import { useColumnLayout } from "./columnLayout";
import { FilterRow, TitleRow } from "./HeaderRow";
import { Toolbar } from "./Toolbar";
import { Tree } from "./tree";
import { useElementWidth } from "./useElementWidth";
import { allRows, useRows, type TableSource } from "./useRows";
import { useTableState } from "./useTableState";

export interface DataTableProps {
  readonly name: string;
  readonly table: Table;
  /** Where more rows come from; null for tables made in the page. */
  readonly source: TableSource | null;
  /** Prefix of the table's state in the address; null for tables inside rows. */
  readonly address?: string | null;
  readonly fileName: string;
  readonly title?: ReactNode;
  /** What opening a row shows. */
  readonly detail?: (row: Row) => ReactNode;
  /** What tells a row from the others, for the address; needed with `detail`. */
  readonly rowId?: (row: Row) => string;
  readonly hiddenColumns?: readonly string[] | ((key: string) => boolean);
  readonly notes?: readonly Note[];
  readonly maxHeight?: string;
  readonly extra?: ReactNode;
}

const NOTHING: readonly string[] = [];
/** A table that can be seen at once needs no filters in sight. */
const SHORT = 12;

export function DataTable(props: DataTableProps) {
  const { table, source, address = null, detail, rowId } = props;
  const control = useTableState(address, table.sort);
  const { state } = control;
  const [measure, width] = useElementWidth();
  const gridId = useId();
  const opens = detail !== undefined || table.tree !== null;
  const views = useMemo(() => columnViews(table, opens), [table, opens]);
  const hiddenAtFirst = useMemo(() => hiddenByDefault(props.hiddenColumns ?? NOTHING, table), [props.hiddenColumns, table]);
  const layout = useColumnLayout(props.name, views, hiddenAtFirst, width);
  const isKnown = (named: { readonly key: string | null }) => unknownColumns(table.columns, [named]).length === 0;
  const applied = { ...state, filter: state.filter.filter(isKnown), sort: state.sort.filter(isKnown) };
  const shown = useRows(table, source, applied);
  const tree = useMemo(() => (table.tree === null ? null : new Tree(table, table.tree)), [table]);
  const [filtersOpen, setFiltersOpen] = useState((address !== null && table.row_count > SHORT) || state.filter.length > 0);

  const searching = applied.filter.length > 0 || state.search !== "";
  const items = treeItems(tree, shown.rows, state.open, searching) ?? flatItems(shown.rows, rowId, detail, state.open);
  const noted = useMemo(() => notedKeys(props.notes ?? []), [props.notes]);
  const label = layout.visible.find((view) => view.column.type === "string")?.column.key ?? null;
  const toggle = (id: string) => {
    const open = new Set(state.open);
    if (!open.delete(id)) open.add(id);
    control.setOpen(open);
  };

  return (
    <section className="card" aria-label={table.title} data-table={address ?? undefined}>
      <header>
        <h2 title={table.help}>{props.title ?? table.title}</h2>
        {props.extra}
        <Toolbar
          table={table}
          control={control}
          shown={shown}
          fileName={props.fileName}
          searchable={table.row_count > SHORT}
          filtersOpen={filtersOpen}
          onToggleFilters={() => setFiltersOpen(!filtersOpen)}
          hidden={layout.hidden}
          onHide={layout.hide}
          exportRows={() => allRows(table, shown, source, applied)}
        />
      </header>
      <div ref={measure}>
        <GridBody
          id={gridId}
          items={items}
          layout={layout}
          viewportWidth={width}
          label={label}
          detail={detail}
          onToggle={toggle}
          more={shown.more}
          maxHeight={props.maxHeight ?? "calc(100vh - 120px)"}
          head={
            <>
              <TitleRow layout={layout} control={control} noted={noted} />
              {filtersOpen && <FilterRow columns={layout.visible} widths={layout.widths} control={control} />}
            </>
          }
          empty={shown.problem ?? emptyText(table, searching)}
        />
      </div>
    </section>
  );
}

function emptyText(table: Table, searching: boolean): string {
  if (searching && table.row_count > 0) return "No row passes these filters.";
  return table.why_empty ?? "No rows in this selection.";
}

/**
 * Hidden until asked for: what the page says; the ids of a tree, since the indentation says the same;
 * columns without a single value; bounds, which stand in the column they bound. The button of the columns says how many are hidden, its list why.
 */
function hiddenByDefault(declared: NonNullable<DataTableProps["hiddenColumns"]>, table: Table): readonly string[] {
  const keys = table.columns.map((column) => column.key);
  const hidden = new Set(typeof declared === "function" ? keys.filter(declared) : declared);
  if (table.tree !== null && table.columns.some((column) => column.key === "name")) {
    for (const key of [table.tree.id, table.tree.parent]) if (key !== "name") hidden.add(key);
  }
  table.columns.forEach((column, index) => {
    const isEmpty = (row: Row) => row[index] === null && boundsOf(table, row, column.key) === null;
    if ((table.rows.length > 0 && table.rows.every(isEmpty)) || isBound(table, column.key)) hidden.add(column.key);
  });
  return [...hidden];
}

function treeItems(
  tree: Tree | null,
  rows: readonly Row[],
  open: ReadonlySet<string>,
  searching: boolean,
): GridItem[] | null {
  if (tree === null) return null;
  // While filtering, everything that matches has to be seen; else the ids in the address are the closed ones.
  const isOpen = (id: string) => searching || !open.has(id);
  return tree.flatten(rows, isOpen).map((item) => ({
    row: item.row,
    id: item.id,
    depth: item.depth,
    expander: item.hasChildren ? (isOpen(item.id) ? "open" : "closed") : "none",
    detailOpen: false,
  }));
}

function flatItems(
  rows: readonly Row[],
  rowId: ((row: Row) => string) | undefined,
  detail: ((row: Row) => ReactNode) | undefined,
  open: ReadonlySet<string>,
): GridItem[] {
  return rows.map((row, index) => {
    const id = rowId?.(row) ?? String(index);
    const isOpen = detail !== undefined && open.has(id);
    const expander = detail === undefined ? null : isOpen ? "open" : "closed";
    return { row, id, depth: 0, expander, detailOpen: isOpen };
  });
}
