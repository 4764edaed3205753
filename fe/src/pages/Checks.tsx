/** The table of all checks behind the findings, with their outcomes. */
import type { Table } from "../api/types";
import { useProfileNames } from "../state/profile";
import { DataTable } from "../table/DataTable";

/** For scripts, or in the findings already. */
const HIDDEN = ["code", "measured"];

export function Checks({ table }: { readonly table: Table }) {
  const names = useProfileNames();
  return <DataTable name="checked" table={table} source={null} fileName={["checked", ...names].join("_")} hiddenColumns={HIDDEN} maxHeight="480px" />;
}
