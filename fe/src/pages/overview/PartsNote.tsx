/** Why some of the parts are unknown, or how much of one may belong to another. */
import type { Table } from "../../api/types";
import { formatValue } from "../../lib/format";
import { matrixUnit, maybeTensorCoreUs } from "./categories";

export function PartsNote({ table, measure }: { readonly table: Table; readonly measure: string }) {
  const reason = table.null_reasons[measure];
  const maybeUs = maybeTensorCoreUs(table);
  return (
    <>
      {reason !== undefined && <p className="soft panel-note">{reason}</p>}
      {maybeUs > 0 && <p className="soft panel-note">{formatValue(maybeUs, "us")} of other kernels may be {matrixUnit(table)} time: no rule classifies these kernels.</p>}
    </>
  );
}
