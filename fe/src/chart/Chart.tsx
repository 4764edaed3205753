/** A chart with its title, legend and tools. ECharts arrives with the first one that is shown. */
import type { ECharts, EChartsCoreOption } from "echarts/core";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { deepEqual } from "../lib/deepEqual";
import { saveUrl } from "../lib/download";
import { useTheme } from "../ui/theme";
import { chartColors } from "./colors";
import { chartCsv } from "./csv";
import { Legend } from "./Legend";
import { nothingText } from "./nothing";
import { chartOptions, zoomable } from "./options";
import { SaveMenu } from "./SaveMenu";
import { isCurve, type ChartData, type ChartRange } from "./types";

interface Props {
  readonly title: string;
  readonly help?: string;
  readonly chart: ChartData;
  readonly fileName: string;
  readonly height: number;
  /** "Use this range as selection"; without it a zoom is only a zoom. */
  readonly onSelect?: (range: ChartRange) => void;
  /** A click on a bar, by its place among the categories. */
  readonly onPick?: (index: number) => void;
  /** A click on a curve, by the value of x. */
  readonly onPickX?: (x: number) => void;
  readonly extra?: ReactNode;
  /** Why there may be no value, where the server says it. */
  readonly nullReason?: string | undefined;
}

export function Chart({ nullReason, ...props }: Props) {
  const nothing = nothingText(props.chart, nullReason);
  if (nothing === null) return <DrawnChart {...props} />;
  const { title, help, extra } = props;
  return (
    <figure className="card chart" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        {extra}
      </header>
      <p className="chart-nothing">{nothing}</p>
    </figure>
  );
}

function DrawnChart({ title, help, chart: given, fileName, height, onSelect, onPick, onPickX, extra }: Omit<Props, "nullReason">) {
  // Pages make the data anew whenever they draw; only data that says something else is drawn again.
  const [chart, setChart] = useState(given);
  if (chart !== given && !deepEqual(chart, given)) setChart(given);
  const theme = useTheme();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [zoomed, setZoomed] = useState<{ options: unknown; range: ChartRange | null }>({ options: null, range: null });
  const { element, instance } = useECharts();
  const pick = useRef(onPick);
  const pickX = useRef(onPickX);
  useEffect(() => {
    pick.current = onPick;
    pickX.current = onPickX;
  });
  const options = useMemo(
    () => (instance === null ? null : chartOptions(chart, { hidden, colors: chartColors(), widthPx: instance.getWidth() })),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the theme changes what chartColors() reads
    [instance, chart, hidden, theme],
  );

  useEffect(() => {
    if (instance === null || options === null) return;
    draw(instance, options, chart);
    const onZoom = (event: unknown) => setZoomed({ options, range: zoomedRange(event, chart) });
    instance.on("datazoom", onZoom);
    return () => {
      instance.off("datazoom", onZoom);
    };
  }, [instance, options, chart]);

  useEffect(() => {
    if (instance === null) return;
    // Where dragging zooms, the bars themselves hear no click; and the whole band is easier to hit.
    const onClick = ({ offsetX, offsetY }: { offsetX: number; offsetY: number }) => {
      const index = clickedCategory(instance, chart, offsetX, offsetY);
      if (index !== null) pick.current?.(index);
      const x = clickedX(instance, chart, offsetX, offsetY);
      if (x !== null) pickX.current?.(x);
    };
    instance.getZr().on("click", onClick);
    return () => {
      if (!instance.isDisposed()) instance.getZr().off("click", onClick);
    };
  }, [instance, chart]);

  const resetZoom = () => {
    if (instance !== null && options !== null) draw(instance, options, chart);
    setZoomed({ options: null, range: null });
  };
  // Drawing anew shows everything again.
  const range = zoomed.options === options ? zoomed.range : null;
  return (
    <figure className="card chart" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        {extra}
        <span style={{ flex: 1 }} />
        {range !== null && onSelect !== undefined && (
          <button type="button" className="button" onClick={() => onSelect(range)}>
            Use this range as selection
          </button>
        )}
        {range !== null && (
          <button type="button" className="button" onClick={resetZoom}>
            Reset zoom
          </button>
        )}
        <SaveMenu
          fileName={fileName}
          savePicture={() => {
            if (instance !== null) savePicture(instance, fileName);
          }}
          csv={() => chartCsv(chart)}
        />
      </header>
      {chart.lines.length > 1 && <Legend chart={chart} hidden={hidden} onChange={setHidden} />}
      <div ref={element} style={{ height }} role="img" aria-label={`Chart: ${title}`} aria-busy={options === null} />
    </figure>
  );
}

function savePicture(instance: ECharts, fileName: string): void {
  const background = chartColors().surface;
  saveUrl(`${fileName}.png`, instance.getDataURL({ type: "png", pixelRatio: 2, backgroundColor: background }));
}

/** Draws all of it, and lets dragging zoom. */
function draw(instance: ECharts, options: EChartsCoreOption, chart: ChartData): void {
  instance.setOption(options, { notMerge: true });
  if (!zoomable(chart)) return;
  instance.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
}

function clickedCategory(instance: ECharts, chart: ChartData, x: number, y: number): number | null {
  if (isCurve(chart) || !instance.containPixel("grid", [x, y])) return null;
  const place = instance.convertFromPixel("grid", [x, y])[chart.horizontal ? 1 : 0];
  return place !== undefined && place >= 0 && place < chart.categories.length ? place : null;
}

function clickedX(instance: ECharts, chart: ChartData, x: number, y: number): number | null {
  if (!isCurve(chart) || !instance.containPixel("grid", [x, y])) return null;
  return instance.convertFromPixel("grid", [x, y])[0] ?? null;
}

/** The part that was dragged over, or null when the event names none. */
function zoomedRange(event: unknown, chart: ChartData): ChartRange | null {
  const { batch } = event as { batch?: { startValue?: number; endValue?: number }[] };
  const { startValue: start, endValue: end } = batch?.[0] ?? {};
  if (start === undefined || end === undefined) return null;
  if (isCurve(chart)) return { start, end };
  return { start: Math.max(0, start), end: Math.min(chart.categories.length - 1, end) };
}

const LOAD_AGAIN_MS = 3000;

/** An instance in an element, resized with it and disposed of with it. */
function useECharts() {
  const element = useRef<HTMLDivElement>(null);
  const [instance, setInstance] = useState<ECharts | null>(null);
  useEffect(() => {
    let created: ECharts | null = null;
    let gone = false;
    const observer = new ResizeObserver(() => created?.resize());
    let again = 0;
    const load = () => {
      void import("./echarts").then(
        ({ init }) => {
          if (gone || element.current === null) return;
          created = init(element.current, null, { renderer: "canvas" });
          observer.observe(element.current);
          setInstance(created);
        },
        // A network that is off just now; what is on the page stays.
        () => {
          if (!gone) again = window.setTimeout(load, LOAD_AGAIN_MS);
        },
      );
    };
    load();
    return () => {
      gone = true;
      clearTimeout(again);
      observer.disconnect();
      created?.dispose();
      setInstance(null);
    };
  }, []);
  return { element, instance };
}
