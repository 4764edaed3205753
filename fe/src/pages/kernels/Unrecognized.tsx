/** The kernels that nothing recognizes, each with a rule to copy into the user's file of rules. */
import type { Fact, Row, Table } from "../../api/types";
import { cellOf, textOf } from "../../lib/rows";
import { visibleText } from "../../lib/visibleText";
import { DataTable } from "../../table/DataTable";
import { CopyButton } from "../../ui/CopyButton";
import { FullName } from "../RowDetail";
import type { ViewContext } from "../ViewFrame";

/** The name of the table. */
export const UNRECOGNIZED = "unrecognized";
const COPY = "Copy the rule";

export function Unrecognized({ context }: { readonly context: ViewContext }) {
  const { view, source, fileName } = context;
  const table = view.tables[UNRECOGNIZED];
  if (table === undefined || table.row_count === 0) return null;
  // Variants of a template share a rule.
  const rules = [...new Set(table.rows.map((row) => textOf(table, row, "rule")))];
  const label = rules.length === 1 ? COPY : `Copy ${String(rules.length)} rules`;
  const file = view.facts.find(({ key }) => key === "kernel_rules");
  return (
    <DataTable
      name={`kernels.${UNRECOGNIZED}`}
      table={table}
      source={source(UNRECOGNIZED)}
      address={UNRECOGNIZED}
      fileName={fileName(UNRECOGNIZED)}
      notes={view.notes}
      maxHeight="480px"
      rowId={(row) => textOf(table, row, "name")}
      detail={(row) => <Rule table={table} row={row} />}
      extra={
        <span className="soft">
          <CopyButton text={rules.join("\n")} label={label} title={label} className="button" />{" "}
          {fileText(file)}
        </span>
      }
    />
  );
}

/** Where rules go: the file in use, or the one that is looked for. */
function fileText(file: Fact | undefined): string {
  if (file === undefined) return "";
  return visibleText(typeof file.value === "string" ? `Applied: ${file.value}` : (file.reason ?? ""));
}

function Rule({ table, row }: { readonly table: Table; readonly row: Row }) {
  const rule = textOf(table, row, "rule");
  const demangled = cellOf(table, row, "demangled_name");
  return (
    <>
      <FullName name={textOf(table, row, "name")} demangled={typeof demangled === "string" ? demangled : ""} />
      <pre className="code">{rule.split("\n").map(visibleText).join("\n")}</pre>
      <p>
        <CopyButton text={rule} label={COPY} title={COPY} className="button" />
      </p>
    </>
  );
}
