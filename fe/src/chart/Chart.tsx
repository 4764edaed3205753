/** A chart with its title, legend and tools. ECharts is loaded with the first chart. */
import type { ECharts, EChartsCoreOption } from "echarts/core";
import { useEffect, useMemo, useRef, useState, type ReactNode } from "react";

import { deepEqual } from "../lib/deepEqual";
import { saveUrl } from "../lib/download";
import { useTheme } from "../ui/theme";
import { noDataText } from "./chartData";
import { chartColors } from "./colors";
import { chartCsv } from "./csv";
import { Legend } from "./Legend";
import { chartOptions, zoomable } from "./options";
import { SaveMenu } from "./SaveMenu";
import { isCurve, type ChartData, type ChartRange } from "./types";

interface Props {
  readonly title: string;
  readonly help?: string;
  readonly chart: ChartData;
  readonly fileName: string;
  readonly height: number;
  /** Dragging over bars selects them at once; over a curve it zooms, with the button "Use this range as selection". */
  readonly onSelect?: (range: ChartRange) => void;
  /** A click on a bar, by its index among the categories. */
  readonly onPick?: (index: number) => void;
  /** A click on a curve, by the value of x. */
  readonly onPickX?: (x: number) => void;
  readonly extra?: ReactNode;
  /** Why values may be missing, if the server has a reason. */
  readonly nullReason?: string | undefined;
}

/** Of a picture that is saved before the chart is drawn. */
const DEFAULT_WIDTH_PX = 800;

export function Chart({ nullReason, ...props }: Props) {
  const noData = noDataText(props.chart, nullReason);
  if (noData === null) return <DrawnChart {...props} />;
  const { title, help, extra } = props;
  return (
    <figure className="card chart" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        {extra}
      </header>
      <p className="chart-nothing">{noData}</p>
    </figure>
  );
}

function DrawnChart({ title, help, chart: chartProp, fileName, height, onSelect, onPick, onPickX, extra }: Omit<Props, "nullReason">) {
  // Pages rebuild the data on every render; only changed data is drawn again.
  const [chart, setChart] = useState(chartProp);
  if (chart !== chartProp && !deepEqual(chart, chartProp)) setChart(chartProp);
  const theme = useTheme();
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [zoomed, setZoomed] = useState<{ options: unknown; range: ChartRange | null }>({ options: null, range: null });
  const { element, instance } = useECharts();
  const pick = useRef(onPick);
  const pickX = useRef(onPickX);
  const select = useRef(onSelect);
  useEffect(() => {
    pick.current = onPick;
    pickX.current = onPickX;
    select.current = onSelect;
  });
  const options = useMemo(
    () => (instance === null ? null : chartOptions(chart, { hidden, colors: chartColors(), widthPx: instance.getWidth() })),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the theme changes what chartColors() reads
    [instance, chart, hidden, theme],
  );

  useEffect(() => {
    if (instance === null || options === null) return;
    draw(instance, options, chart);
    const onZoom = (event: unknown) => {
      const range = zoomedRange(event, chart);
      if (range === null || isCurve(chart) || select.current === undefined) setZoomed({ options, range });
      else {
        draw(instance, options, chart);
        select.current(range);
      }
    };
    instance.on("datazoom", onZoom);
    return () => {
      instance.off("datazoom", onZoom);
    };
  }, [instance, options, chart]);

  useEffect(() => {
    if (instance === null) return;
    // Where dragging zooms, bars receive no clicks; and the whole band is easier to hit.
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
  // A redraw resets the zoom.
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
          svg={async () => {
            const { chartSvg } = await import("./svg");
            const size = { width: instance?.getWidth() ?? DEFAULT_WIDTH_PX, height };
            return chartSvg(options ?? {}, size, chartColors().surface);
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

/** Draws the whole chart, and activates zooming by dragging. */
function draw(instance: ECharts, options: EChartsCoreOption, chart: ChartData): void {
  instance.setOption(options, { notMerge: true });
  if (!zoomable(chart)) return;
  instance.dispatchAction({ type: "takeGlobalCursor", key: "dataZoomSelect", dataZoomSelectActive: true });
}

function clickedCategory(instance: ECharts, chart: ChartData, x: number, y: number): number | null {
  if (isCurve(chart) || !instance.containPixel("grid", [x, y])) return null;
  const index = instance.convertFromPixel("grid", [x, y])[chart.horizontal ? 1 : 0];
  return index !== undefined && index >= 0 && index < chart.categories.length ? index : null;
}

function clickedX(instance: ECharts, chart: ChartData, x: number, y: number): number | null {
  if (!isCurve(chart) || !instance.containPixel("grid", [x, y])) return null;
  return instance.convertFromPixel("grid", [x, y])[0] ?? null;
}

/** The zoomed range, or null when the event has none. */
function zoomedRange(event: unknown, chart: ChartData): ChartRange | null {
  const { batch } = event as { batch?: { startValue?: number; endValue?: number }[] };
  const { startValue: start, endValue: end } = batch?.[0] ?? {};
  if (start === undefined || end === undefined) return null;
  if (isCurve(chart)) return { start, end };
  return { start: Math.max(0, start), end: Math.min(chart.categories.length - 1, end) };
}

const RETRY_MS = 3000;

/** An instance in an element, resized with it and disposed of with it. */
function useECharts() {
  const element = useRef<HTMLDivElement>(null);
  const [instance, setInstance] = useState<ECharts | null>(null);
  useEffect(() => {
    let created: ECharts | null = null;
    let isUnmounted = false;
    const observer = new ResizeObserver(() => created?.resize());
    let retryTimer = 0;
    const load = () => {
      void import("./echarts").then(
        ({ init }) => {
          if (isUnmounted || element.current === null) return;
          created = init(element.current, null, { renderer: "canvas" });
          observer.observe(element.current);
          setInstance(created);
        },
        // The network may be down for now; the page stays.
        () => {
          if (!isUnmounted) retryTimer = window.setTimeout(load, RETRY_MS);
        },
      );
    };
    load();
    return () => {
      isUnmounted = true;
      clearTimeout(retryTimer);
      observer.disconnect();
      created?.dispose();
      setInstance(null);
    };
  }, []);
  return { element, instance };
}
