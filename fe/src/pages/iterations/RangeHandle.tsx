/** A handle at one end of the selected range: dragged, or moved by keys and the wheel. */
import { visibleText } from "../../lib/visibleText";
import { edgeX, nearestEdge, type Window } from "./bars";
import { PLOT } from "./draw";
import { keyStep, type End, type Range } from "./range";
import type { RangeDraft } from "./useRangeDraft";
import { useWheel } from "./useWheel";

interface Props {
  readonly end: End;
  readonly range: Range;
  readonly window: Window;
  readonly names: readonly string[];
  readonly draft: RangeDraft;
}

export const END_TITLES: Readonly<Record<End, string>> = { first: "First selected iteration", last: "Last selected iteration" };

export function RangeHandle({ end, range, window, names, draft }: Props) {
  const element = useWheel<HTMLDivElement>((by) => draft.move(end, by));
  const index = range[end];
  // Beyond the drawn iterations it stays at the edge, to keep the keyboard focus.
  const edge = Math.max(window.from, Math.min(window.to, end === "first" ? index : index + 1));
  const drag = (clientX: number, left: number) => {
    const at = nearestEdge(clientX - left, window);
    draft.put(end, end === "first" ? at : at - 1, false);
  };
  return (
    <div
      ref={element}
      className={`iteration-border ${end} no-print`}
      style={{ left: PLOT.left + edgeX(edge, window), top: PLOT.top, bottom: PLOT.bottom }}
      role="slider"
      tabIndex={0}
      aria-label={END_TITLES[end]}
      aria-orientation="horizontal"
      aria-valuemin={1}
      aria-valuemax={names.length}
      aria-valuenow={index + 1}
      aria-valuetext={`${visibleText(names[index] ?? "")}, ${index + 1} of ${names.length}`}
      title={`${END_TITLES[end]}: ${visibleText(names[index] ?? "")}. Drag it, turn the wheel, or use the arrow keys.`}
      onKeyDown={(event) => {
        const step = keyStep(event.key, names.length);
        if (step === null || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        draft.move(end, step);
      }}
      onBlur={draft.rest}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        const stage = event.currentTarget.parentElement;
        if (stage === null || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
        drag(event.clientX, stage.getBoundingClientRect().left + PLOT.left);
      }}
      onPointerUp={draft.rest}
      onPointerCancel={draft.rest}
    />
  );
}
