/** The roofline with its legend and an explanation. */
import type { Series, Table } from "../../api/types";
import { SwatchToggle, useHiddenSeries } from "../../chart/SwatchToggle";
import { pointsOf, symbolPath, type Bound } from "./plot";
import { BOUND_TEXT, RooflinePlot } from "./RooflinePlot";

interface Props {
  readonly series: Series;
  readonly table: Table;
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}

export function RooflineCard({ series, table, chosen, onChoose }: Props) {
  const legend = useHiddenSeries();
  const bounds = [...new Set(pointsOf(table).map(({ bound }) => bound))];
  return (
    <figure className="card chart" aria-label="Roofline" data-roofline>
      <header>
        <h2>Roofline</h2>
        <span className="soft">one point per row, sized by device time; click a point to show its row</span>
      </header>
      <ul className="roofline-legend">
        {bounds.map((bound) => (
          <li key={bound}>
            <SwatchToggle name={BOUND_TEXT[bound]} mark={<Symbol bound={bound} />} series={legend} />
          </li>
        ))}
      </ul>
      <RooflinePlot series={series} table={table} hidden={legend.hidden} chosen={chosen} onChoose={onChoose} />
      <details className="body">
        <summary>How to read this</summary>
        <p>
          A FLOP is one addition or multiplication; 1 TFLOP/s is 10¹² of them per second. Each point is a row of the table below. The higher it is,
          the faster it computes; the farther right, the more it computes per byte that it reads or writes. Both axes are logarithmic:
          equal distances are equal factors, usually ten between two lines of the grid.
        </p>
        <p>
          A device has two limits: its compute throughput and its memory bandwidth. The roofline combines both: it rises where memory is the limit and
          is flat where compute is, at a height that depends on the data type. A point above it did less work than is counted: its data was still in
          the cache, or it used a cheaper algorithm (Winograd).
        </p>
        <p>
          The farther a point is <em>below</em> its roofline, the more of its time can be saved; the larger the point, the more time it takes. Under the
          rising part, moving less data helps (fused operators, smaller data types); under the flat part, faster arithmetic does (smaller data
          types, larger tiles). A circle is latency-bound, too short to reach either limit: fewer and larger launches help (larger batch, fusion,
          graph capture).
        </p>
        <p>
          MFU, model FLOPs utilization, is the corresponding ratio for the whole step: the FLOPs that the model needs, divided by what the device could
          have computed in that time.
        </p>
      </details>
    </figure>
  );
}

function Symbol({ bound }: { readonly bound: Bound }) {
  return (
    <svg width={14} height={14} viewBox="-8 -8 16 16" aria-hidden="true" className={`roofline-point is-${bound}`}>
      <path d={symbolPath(bound, 6)} />
    </svg>
  );
}
