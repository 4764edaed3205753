/** The roofline with its legend and how to read it. */
import type { Series, Table } from "../../api/types";
import { pointsOf, symbolPath, type Bound } from "./plot";
import { BOUND_TEXT, RooflinePlot } from "./RooflinePlot";

interface Props {
  readonly series: Series;
  readonly table: Table;
  readonly chosen: string | null;
  readonly onChoose: (id: string) => void;
}

export function RooflineCard({ series, table, chosen, onChoose }: Props) {
  const bounds = [...new Set(pointsOf(table).map(({ bound }) => bound))];
  return (
    <figure className="card chart" aria-label="Roofline" data-roofline>
      <header>
        <h2>Roofline</h2>
        <span className="soft">a point per row, as large as its device time; click one to find its row</span>
      </header>
      <ul className="roofline-legend">
        {bounds.map((bound) => (
          <li key={bound}>
            <Symbol bound={bound} /> {BOUND_TEXT[bound]}
          </li>
        ))}
      </ul>
      <RooflinePlot series={series} table={table} chosen={chosen} onChoose={onChoose} />
      <details className="body" open>
        <summary>How to read this</summary>
        <p>
          A FLOP is one addition or multiplication; TFLOP/s are 10¹² of them in a second. Each point is a row of the table below. The higher it lies,
          the faster it computes; the farther right, the more it computes with each byte that it reads or writes. Both axes are logarithmic:
          equal distances are equal factors, mostly ten from one line of the grid to the next.
        </p>
        <p>
          A device has two limits: how much it can compute in a second, and how much its memory can deliver in a second. The line, the roof, is both:
          it rises where memory is the limit and is level where arithmetic is, at a height that depends on the number type. A point above it did less
          work than is counted: its data was still in the cache, or its algorithm is a cleverer one (Winograd).
        </p>
        <p>
          The farther a point lies <em>below</em> its line, the more of its time can be saved; the larger the point, the more time it takes. Under the
          rising part, moving less data helps (fuse operators, smaller number types); under the level part, faster arithmetic does (smaller number
          types, larger tiles). A circle is too short to reach either line: fewer and larger launches help (larger batch, fusion, CUDA graphs).
        </p>
        <p>
          MFU, model FLOPs utilization, is the same for the whole step: the FLOPs that the model needs, over what the device could have computed in
          that time.
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
