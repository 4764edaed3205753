/** The canvas with the bars, the handles of the range, and the values under the pointer. */
import { useEffect, useMemo, useRef, useState } from "react";

import { chartColors } from "../../chart/colors";
import { formatValue } from "../../lib/format";
import { visibleText } from "../../lib/visibleText";
import { useElementWidth } from "../../table/useElementWidth";
import { pixelRatio, setSize } from "../../timeline/canvases";
import { onPrinting } from "../../ui/printing";
import { useTheme } from "../../ui/theme";
import { iterationAt, type Bars, type Window } from "./bars";
import { drawBars, PLOT } from "./draw";
import type { Range } from "./range";
import { RangeHandle } from "./RangeHandle";
import type { RangeDraft } from "./useRangeDraft";

const HEIGHT_PX = 240;
/** A pointer that moves less than this clicks. */
const CLICK_PX = 4;

interface Props {
  readonly title: string;
  readonly bars: Bars;
  /** Whether some of their parts are hidden. */
  readonly isPartial: boolean;
  /** The drawn iterations. */
  readonly shown: Range;
  readonly draft: RangeDraft;
  /** Index of the chosen iteration, or -1. */
  readonly chosen: number;
  readonly onChoose: (index: number) => void;
}

export function BarStage({ title, bars, isPartial, shown, draft, chosen, onChoose }: Props) {
  const [measure, widthPx] = useElementWidth();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [hover, setHover] = useState<{ readonly index: number; readonly x: number } | null>(null);
  // Where the pointer went down, until it goes up; dragged once it has moved far enough.
  const press = useRef<{ readonly index: number; readonly clientX: number; dragged: boolean } | null>(null);
  const theme = useTheme();
  const [printings, setPrintings] = useState(0);
  useEffect(() => onPrinting(() => setPrintings((count) => count + 1)), []);
  const { range, isMoving } = draft;
  const window = useMemo<Window>(
    () => ({ from: shown.first, to: shown.last + 1, widthPx: Math.max(0, widthPx - PLOT.left - PLOT.right) }),
    [shown.first, shown.last, widthPx],
  );

  useEffect(() => {
    const [element, context] = [canvas.current, canvas.current?.getContext("2d") ?? null];
    if (element === null || context === null || widthPx === 0) return;
    const ratio = pixelRatio();
    setSize(element, widthPx, HEIGHT_PX, ratio);
    context.scale(ratio, ratio);
    const isInside = (index: number) => range !== null && index >= range.first && index <= range.last;
    const isSelected = (index: number) => isInside(index) && (isMoving || bars.selected[index] === 1);
    drawBars(context, { bars, window, heightPx: HEIGHT_PX, range, isSelected, chosen, colors: chartColors() });
  }, [bars, window, widthPx, range, isMoving, chosen, theme, printings]);

  const positionAt = (clientX: number): { index: number; x: number } | null => {
    const left = (canvas.current?.getBoundingClientRect().left ?? 0) + PLOT.left;
    const x = clientX - left;
    return x < 0 || x > window.widthPx ? null : { index: iterationAt(x, window), x };
  };
  const nearestIndex = (clientX: number) => {
    const left = (canvas.current?.getBoundingClientRect().left ?? 0) + PLOT.left;
    return iterationAt(clientX - left, window);
  };
  return (
    <div
      ref={measure}
      className="iteration-stage"
      style={{ height: HEIGHT_PX }}
      onPointerMove={({ clientX }) => setHover(positionAt(clientX))}
      onPointerLeave={() => setHover(null)}
    >
      <canvas
        ref={canvas}
        role="img"
        aria-busy={false}
        aria-label={`Chart: ${title}. The table below has every value.`}
        onPointerDown={(event) => {
          const at = event.button === 0 ? positionAt(event.clientX) : null;
          if (at === null) return;
          press.current = { index: at.index, clientX: event.clientX, dragged: false };
          event.currentTarget.setPointerCapture(event.pointerId);
        }}
        onPointerMove={({ clientX }) => {
          const { current } = press;
          if (current === null || (!current.dragged && Math.abs(clientX - current.clientX) < CLICK_PX)) return;
          current.dragged = true;
          draft.drag(current.index, nearestIndex(clientX));
        }}
        onPointerUp={() => {
          const { current } = press;
          press.current = null;
          if (current?.dragged === true) draft.rest();
          else if (current !== null) onChoose(current.index);
        }}
        onPointerCancel={() => {
          press.current = null;
          draft.rest();
        }}
      />
      {range !== null &&
        (["first", "last"] as const).map((end) => <RangeHandle key={end} end={end} range={range} window={window} names={bars.names} draft={draft} />)}
      {hover !== null && !isMoving && <Values bars={bars} isPartial={isPartial} index={hover.index} x={hover.x} window={window} />}
    </div>
  );
}

interface ValuesProps {
  readonly bars: Bars;
  readonly isPartial: boolean;
  readonly index: number;
  readonly x: number;
  readonly window: Window;
}

/** Hidden from screen readers, as the table has the same values. */
function Values({ bars, isPartial, index, x, window }: ValuesProps) {
  const isLeft = x > window.widthPx / 2;
  const side = isLeft ? { right: PLOT.right + window.widthPx - x + 16 } : { left: PLOT.left + x + 16 };
  const rows = [{ title: isPartial ? "Sum of these" : "Total", color: null, value: bars.total[index] ?? 0 }, ...bars.parts.map(({ title, color, values }) => ({ title, color, value: values[index] ?? 0 }))];
  return (
    <div className="iteration-values" style={side} aria-hidden="true">
      <b>Iteration {visibleText(bars.names[index] ?? "")}</b>
      <dl>
        {rows.map(({ title, color, value }) => (
          <div key={title}>
            <dt>
              {color !== null && <i className="swatch" style={{ background: `var(${color})` }} />}
              {title}
            </dt>
            <dd>{formatValue(value, "us")}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
