/** The stage for the life of the page: its canvases, its colours, and who listens to the pointer. */
import { useEffect, useRef, useState } from "react";

import { useTheme } from "../ui/theme";
import { listenToGestures, type GestureEvents } from "./gestures";
import type { Stack } from "./stack";
import { Stage } from "./stage";
import { notifyStageListeners } from "./useStage";

export function useMountedStage(stack: Stack) {
  const stageRef = useRef<HTMLDivElement>(null);
  const headersRef = useRef<HTMLDivElement>(null);
  const [stage, setStage] = useState<Stage | null>(null);
  useEffect(() => {
    const [host, headers] = [stageRef.current, headersRef.current];
    if (host === null || headers === null) return;
    const canvas = new URLSearchParams(window.location.search).get("canvas");
    const choice = canvas === "webgl" || canvas === "2d" ? canvas : null;
    const mounted = new Stage(host, headers, stack, { onChange: notifyStageListeners }, choice);
    const size = new ResizeObserver(() => mounted.resize());
    size.observe(host);
    setStage(mounted);
    return () => {
      size.disconnect();
      mounted.dispose();
      setStage(null);
    };
  }, [stack]);
  return { stage, stageRef, headersRef };
}

/** Follows the theme of the page. */
export function useTheming(stage: Stage | null): void {
  const theme = useTheme();
  useEffect(() => {
    if (stage === null) return;
    stage.retheme();
    const onContrast = () => stage.retheme();
    const forced = window.matchMedia("(forced-colors: active)");
    forced.addEventListener("change", onContrast);
    return () => forced.removeEventListener("change", onContrast);
  }, [stage, theme]);
}

/** The same listeners for the life of the stage: a drag continues while React renders again. */
export function useGestures(stage: Stage | null, events: GestureEvents): void {
  const latest = useRef(events);
  useEffect(() => {
    latest.current = events;
  });
  useEffect(() => {
    if (stage === null) return;
    // The frame around headers and stage: the wheel acts on both.
    const area = stage.surface.closest<HTMLElement>(".tl-frame") ?? stage.surface;
    return listenToGestures(area, stage, {
      dragMode: () => latest.current.dragMode(),
      onRange: (range, done, over) => latest.current.onRange(range, done, over),
      onPick: (hit) => latest.current.onPick(hit),
      onZoom: (hit) => latest.current.onZoom(hit),
    });
  }, [stage]);
}
