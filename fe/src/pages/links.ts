/** Links to the row of an operator or a kernel, open, on its page. */
import { formatFilter } from "../lib/grammar";
import type { Params } from "../state/address";
import { formatIds } from "../state/openIds";

export interface Link {
  readonly view: string;
  readonly params: Params;
}

/** The table has the name of its view; its rows by name have the name as their id. */
function rowLink(view: string, name: string): Link {
  return {
    view,
    params: { table: view, [`${view}.filter`]: formatFilter([{ key: "name", operator: "=", value: name }]), [`${view}.open`]: formatIds(new Set([name])) },
  };
}

export function operatorLink(name: string): Link {
  return rowLink("operators", name);
}

export function kernelLink(name: string): Link {
  return rowLink("kernels", name);
}
