/** The full name of a kernel inside an operator's row, and the way to its row among all kernels. */
import type { Row, Table } from "../../api/types";
import { textOf } from "../../lib/rows";
import { ViewLink } from "../../ui/ViewLink";
import { kernelLink } from "../links";
import { FullName } from "../RowDetail";

export function KernelName({ table, row }: { readonly table: Table; readonly row: Row }) {
  const name = textOf(table, row, "name");
  return (
    <>
      <FullName name={name} demangled={textOf(table, row, "demangled_name")} />
      <p>
        <ViewLink {...kernelLink(name)}>Show in Kernels</ViewLink>
      </p>
    </>
  );
}
