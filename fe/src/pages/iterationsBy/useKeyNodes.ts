/** The key nodes that can split the whole trace into iterations, best first. */
import type { Query } from "../../api/client";
import { useView } from "../../api/hooks";
import type { Resource } from "../../api/resource";
import type { Table, View } from "../../api/types";
import { DEFAULT, formatIterationsBy, type IterationsBy } from "../../state/iterationsBy";
import { ITERATIONS_BY_KEY } from "../../state/selection";
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

/** Chooses the iterations; clears the selected and chosen ones, whose names no longer apply. */
export function setIterationsBy(iterationsBy: IterationsBy = DEFAULT): void {
  navigate({ [ITERATIONS_BY_KEY]: formatIterationsBy(iterationsBy), steps: null, iteration: null, operator_id: null });
}
