/** Charts as SVG, drawn anew when somebody saves one: a chunk of its own, with the renderer that nothing else needs. */
import { init, use as register, type EChartsCoreOption } from "echarts/core";
import { SVGRenderer } from "echarts/renderers";

// The kinds of charts and their parts.
import "./echarts";

register([SVGRenderer]);

interface Size {
  readonly width: number;
  readonly height: number;
}

export function chartSvg(options: EChartsCoreOption, { width, height }: Size, background: string): string {
  const chart = init(null, null, { renderer: "svg", ssr: true, width, height });
  chart.setOption({ ...options, backgroundColor: background, tooltip: { show: false } });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}
