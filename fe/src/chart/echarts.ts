/** The used parts of ECharts, a separate chunk that the first chart loads. */
import { BarChart, LineChart } from "echarts/charts";
import { DataZoomComponent, GridComponent, MarkLineComponent, MarkPointComponent, ToolboxComponent, TooltipComponent } from "echarts/components";
import { init, use as register } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";

register([BarChart, LineChart, DataZoomComponent, GridComponent, MarkLineComponent, MarkPointComponent, ToolboxComponent, TooltipComponent, CanvasRenderer]);

export { init };
