/** What stands above a table: its title, search, how much is shown, columns, export. */
import type { Row, Table } from "../api/types";
import { formatNumber } from "../lib/format";
import { unknownColumns } from "../lib/rowQuery";
import { Popover } from "../ui/Popover";
import type { ColumnLayout } from "./columnLayout";
import { ColumnMenu } from "./ColumnMenu";
import type { ColumnView } from "./columnView";
import { ExportMenu } from "./ExportMenu";
import { NameModeField } from "./NameModeField";
import { SearchField } from "./SearchField";
import type { ShownRows } from "./useRows";
import type { TableStateControl } from "./useTableState";

interface Props {
  readonly table: Table;
  readonly views: readonly ColumnView[];
  readonly control: TableStateControl;
  readonly shown: ShownRows;
  readonly fileName: string;
  /** False where all rows are seen at once. */
  readonly searchable: boolean;
  readonly filtersOpen: boolean;
  readonly onToggleFilters: () => void;
  readonly layout: ColumnLayout;
  /** By column key why it is hidden at first. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Whether the server can be asked for rows. */
  readonly isServed: boolean;
  /** Every row that passes the filters. */
  readonly exportRows: () => Promise<readonly Row[]>;
}

export function Toolbar(props: Props) {
  const { table, control, shown, layout } = props;
  const { state } = control;
  const hiddenCount = layout.hidden.size;
  const filtered = state.filter.length > 0 || state.search !== "";
  const unknown = unknownColumns(table.columns, [...state.filter, ...state.sort]);
  return (
    <div className="table-tools no-print">
      <span className="count" role="status">
        {filtered
          ? `showing ${formatNumber(shown.matching)} of ${formatNumber(shown.total)}`
          : `${formatNumber(shown.total)} ${shown.total === 1 ? "row" : "rows"}`}
      </span>
      {unknown.length > 0 && (
        <span className="problem" role="alert">
          {unknown.length === 1 ? "No column" : "No columns"} {unknown.map((key) => `“${key}”`).join(", ")} here: what names it is left out.
        </span>
      )}
      {shown.problem !== null && shown.rows.length > 0 && (
        <span className="problem" role="alert">
          Only the first {formatNumber(shown.rows.length)} are here: {shown.problem}
        </span>
      )}
      {filtered && (
        <button
          type="button"
          className="button quiet"
          onClick={() => {
            control.setFilter([]);
            control.setSearch("");
          }}
        >
          Clear filters
        </button>
      )}
      {(props.searchable || filtered) && (
        <>
          <SearchField title={table.title} control={control} takesExpressions={props.isServed} problem={shown.problem} />
          <button type="button" className="button" aria-pressed={props.filtersOpen} onClick={props.onToggleFilters}>
            Filters
          </button>
        </>
      )}
      {layout.visible.some(({ names }) => names !== null) && <NameModeField />}
      <Popover
        label={hiddenCount > 0 ? `Columns (${hiddenCount} hidden)` : "Columns"}
        title="Show and hide columns, and what each one means"
      >
        {() => <ColumnMenu views={props.views} layout={layout} reasons={props.reasons} />}
      </Popover>
      <Popover label="Export" title="Save what is shown">
        {(close) => <ExportMenu table={table} fileName={props.fileName} hidden={layout.hidden} exportRows={props.exportRows} onDone={close} />}
      </Popover>
    </div>
  );
}
