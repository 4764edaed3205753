import { useEffect, useState } from "react";

import type { Stage } from "./stage";
import { listenToStage } from "./useStage";
import type { TimeRange } from "./viewport";

const REST_MS = 400;

/** The viewport once it rests; null while inactive. */
export function useRestingViewport(stage: Stage | null, isWanted: boolean): TimeRange | null {
  const [viewport, setViewport] = useState<TimeRange | null>(stage?.viewport ?? null);
  useEffect(() => {
    if (!isWanted || stage === null) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onChange = () => {
      clearTimeout(timer);
      timer = setTimeout(() => setViewport(stage.viewport), REST_MS);
    };
    onChange();
    const stop = listenToStage(stage, onChange);
    return () => {
      clearTimeout(timer);
      stop();
    };
  }, [stage, isWanted]);
  if (!isWanted || viewport === null) return null;
  const startNs = Math.round(viewport.startNs);
  return { startNs, endNs: Math.max(Math.round(viewport.endNs), startNs + 1) };
}
