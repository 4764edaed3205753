/** What could cut the trace into iterations, best first, asked of the whole trace as it was recorded. */
import type { Query } from "../../api/client";
import { useView } from "../../api/hooks";
import type { Resource } from "../../api/resource";
import type { Table, View } from "../../api/types";
import { STEPS, formatCut, type Cut } from "../../state/iterationsBy";
import { CUT_KEY } from "../../state/selection";
import { traceQuery, type Target } from "../../state/target";
import { navigate } from "../../state/urlStore";
import { PAGE_ROWS } from "../../table/useRows";

export const KEY_NODES = "key_nodes";

export interface KeyNodes {
  readonly answer: Resource<View>;
  readonly table: Table | null;
  readonly query: Query;
}

export function useKeyNodes(target: Target): KeyNodes {
  const query = traceQuery(target);
  const answer = useView("iterations", { ...query, table: KEY_NODES, limit: PAGE_ROWS });
  const view = answer.state === "ready" ? answer.data : null;
  return { answer, table: view?.tables[KEY_NODES] ?? null, query };
}

/** Iterations of another cut have other names: those that were selected and looked into are none of them. */
export function takeCut(cut: Cut = STEPS): void {
  navigate({ [CUT_KEY]: formatCut(cut), steps: null, iteration: null, operator_id: null });
}
