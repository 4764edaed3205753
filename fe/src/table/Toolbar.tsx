/** The tools above a table: row count, search, filters, columns, export. */
import type { Row, Table } from "../api/types";
import { formatNumber } from "../lib/format";
import { MODE_TITLES, NAME_MODES, nameModeOf } from "../lib/names";
import { unknownColumns } from "../lib/rowQuery";
import { setNameMode, useNameMode } from "../state/nameMode";
import { Popover } from "../ui/Popover";
import type { ColumnLayout } from "./columnLayout";
import { ColumnMenu } from "./ColumnMenu";
import type { ColumnView } from "./columnView";
import { ExportMenu } from "./ExportMenu";
import { SearchField } from "./SearchField";
import type { ShownRows } from "./useRows";
import type { TableStateControl } from "./useTableState";

interface Props {
  readonly table: Table;
  readonly views: readonly ColumnView[];
  readonly control: TableStateControl;
  readonly shown: ShownRows;
  readonly fileName: string;
  /** What the address calls the table; null inside a row. */
  readonly address: string | null;
  /** False when all rows are visible at once. */
  readonly searchable: boolean;
  readonly filtersOpen: boolean;
  readonly onToggleFilters: () => void;
  readonly layout: ColumnLayout;
  /** By column key, why the column is hidden by default. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Whether the rows come from the server. */
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
          {unknown.length === 1 ? "Unknown column" : "Unknown columns"} {unknown.map((key) => `“${key}”`).join(", ")}: filters and sort keys that name {unknown.length === 1 ? "it" : "them"} are ignored.
        </span>
      )}
      {shown.problem !== null && shown.rows.length > 0 && (
        <span className="problem" role="alert">
          Only the first {formatNumber(shown.rows.length)} rows are loaded: {shown.problem}
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
        {() => <ColumnMenu views={props.views} layout={layout} reasons={props.reasons} helpUrl={props.table.help_url} />}
      </Popover>
      <Popover label="Export" title="Save what is shown">
        {(close) => <ExportMenu table={table} fileName={props.fileName} hidden={layout.hidden} visible={layout.visible} address={props.address} exportRows={props.exportRows} onDone={close} />}
      </Popover>
    </div>
  );
}

/** The choice which name of kernels every page shows. */
function NameModeField() {
  const mode = useNameMode();
  return (
    <select
      className="field"
      aria-label="Names of kernels"
      title="Which name of kernels every view shows; hover a name for the full one"
      value={mode}
      onChange={({ target }) => setNameMode(nameModeOf(target.value))}
    >
      {NAME_MODES.map((each) => (
        <option key={each} value={each}>
          {MODE_TITLES[each]} names
        </option>
      ))}
    </select>
  );
}
