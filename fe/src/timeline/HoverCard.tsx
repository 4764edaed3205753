/** The card that describes the slice or counter under the pointer. */
import { useEffect, useRef } from "react";

import { formatMoment, formatNumber, formatValue } from "../lib/format";
import { visibleText } from "../lib/visibleText";
import { useNameMode } from "../state/nameMode";
import { formatCounter, pointAt } from "./counterDrawing";
import type { Hover } from "./scene";
import { partOf, workerOfBand } from "./stack";
import type { Stage } from "./stage";
import { shareOfStep } from "./stepShare";
import { nameOf, NO_ID, shownNameOf } from "./tile";
import { useStage } from "./useStage";

interface Props {
  readonly stage: Stage;
}

const OFFSET_PX = 14;

export function HoverCard({ stage }: Props) {
  const hover = useStage(stage, ({ hover: under }) => under);
  const card = useRef<HTMLDivElement>(null);
  const pointer = useRef({ x: 0, y: 0 });
  useEffect(() => {
    const move = () => {
      const element = card.current;
      if (element === null) return;
      const { x, y } = pointer.current;
      const left = x + OFFSET_PX + element.offsetWidth > stage.width ? x - OFFSET_PX - element.offsetWidth : x + OFFSET_PX;
      // Never over the slice it describes: above the pointer where there is no room below.
      const top = y + OFFSET_PX + element.offsetHeight > stage.height ? y - OFFSET_PX - element.offsetHeight : y + OFFSET_PX;
      element.style.transform = `translate(${Math.max(0, left)}px, ${Math.max(0, top)}px)`;
    };
    const onMove = (event: PointerEvent) => {
      pointer.current = { x: event.offsetX, y: event.offsetY };
      move();
    };
    move();
    stage.surface.addEventListener("pointermove", onMove);
    return () => stage.surface.removeEventListener("pointermove", onMove);
  }, [stage, hover]);
  if (hover === null) return null;
  return (
    <div ref={card} className="tl-card" aria-hidden="true">
      {stage.stack.parts.length + stage.stack.bands.length > 1 && <div className="soft">{partOf(stage.stack, hover.row.track.key).worker}</div>}
      {hover.box === null ? <CounterText hover={hover} /> : <BoxText stage={stage} hover={hover} box={hover.box} />}
    </div>
  );
}

function CounterText({ hover }: { readonly hover: Hover }) {
  const { stairs } = hover.tile;
  const { track } = hover.row;
  const point = stairs === null ? -1 : pointAt(stairs, hover.timeNs);
  const value = stairs?.last[point] ?? NaN;
  const [low, high] = [stairs?.min[point] ?? NaN, stairs?.max[point] ?? NaN];
  return (
    <>
      <strong>{track.title}</strong>
      <div>{formatCounter(value, track)}</div>
      {high > low && (
        <div className="soft">
          here from {formatCounter(low, track)} to {formatCounter(high, track)}
        </div>
      )}
    </>
  );
}

interface BoxProps extends Props {
  readonly hover: Hover;
  readonly box: number;
}

function BoxText({ stage, hover, box }: BoxProps) {
  const names = useNameMode();
  const { boxes } = hover.tile;
  const category = stage.stack.parts[0].tracks.categories[boxes.category[box] ?? 0]?.title ?? "";
  const slices = boxes.slices[box] ?? 1;
  const widthUs = ((boxes.endNs[box] ?? 0) - (boxes.startNs[box] ?? 0)) / 1000;
  if (slices > 1) {
    return (
      <>
        <strong>{formatNumber(slices)} slices</strong>
        <div>
          busy {formatValue(100 * (boxes.busy[box] ?? 0), "pct")} of {formatValue(widthUs, "us")}
        </div>
        <div className="soft">largest part {category}; click to zoom in</div>
      </>
    );
  }
  const lanes = hover.row.track.lane_titles;
  const recorded = nameOf(hover.tile, box) ?? lanes?.[hover.lane] ?? category;
  const shown = shownNameOf(hover.tile, box, names) ?? recorded;
  const share = shareOfStep(stage, hover.row.track.key, boxes.startNs[box] ?? 0, boxes.endNs[box] ?? 0);
  const overlapFrom = hover.row.track.overlap_from;
  return (
    <>
      <strong className="tl-card-name">{visibleText(shown)}</strong>
      {shown !== recorded && <div className="tl-card-name soft">{visibleText(recorded)}</div>}
      <div>
        {formatValue(widthUs, "us")}
        {share !== null && hover.row.track.kind !== "steps" && ` · ${share}`}
      </div>
      <div className="soft">
        {category} · starts at {formatMoment(boxes.startNs[box] ?? 0)}
      </div>
      {overlapFrom !== null && hover.lane >= overlapFrom && <div className="soft">overlaps another slice of this track</div>}
      {boxes.id[box] === NO_ID && <div className="soft">{workerOfBand(hover.row.track.key) === null ? "all streams of this device together" : "all devices of this rank together"}</div>}
    </>
  );
}
