/** What the colours of a matrix stand for: a scale with its lowest, middle and highest value. */
import { formatNumber, withUnit } from "../../lib/format";
import { scaleFor } from "../../lib/units";
import { useTheme } from "../../ui/theme";
import type { MatrixMeasure } from "./arrange";
import { colorOf, shareOf, type Spread } from "./colorScale";

interface Props {
  readonly spread: Spread | null;
  readonly measure: MatrixMeasure;
  readonly outliers: number;
  readonly missing: number;
  readonly nullReason?: string | undefined;
}

const STEPS = 32;

export function MatrixLegend({ spread, measure, outliers, missing, nullReason }: Props) {
  const theme = useTheme();
  const scale = scaleFor(measure.unit, Math.max(Math.abs(spread?.high ?? 0), Math.abs(spread?.low ?? 0)));
  const text = (value: number) => withUnit(value, scale, measure.unit);
  const steps = Array.from({ length: STEPS }, (_, step) => colorOf(step / (STEPS - 1), theme));
  return (
    <div className="matrix-legend">
      <span title={measure.help}>{measure.title}</span>
      {spread !== null && (
        <>
          <span>{text(spread.low)}</span>
          <span className="matrix-scale" aria-hidden="true">
            {steps.map((color, step) => (
              <i key={step} style={{ background: color }} />
            ))}
            {spread.high > spread.low && <b style={{ left: `${100 * shareOf(spread.median, spread)}%` }} />}
          </span>
          <span>{text(spread.high)}</span>
          <span className="soft">median {text(spread.median)}</span>
        </>
      )}
      {outliers > 0 && (
        <span>
          <i className="matrix-mark" aria-hidden="true" />
          {formatNumber(outliers)} {outliers === 1 ? "outlier" : "outliers"}
        </span>
      )}
      {missing > 0 && (
        <span className="soft" title={nullReason}>
          <i className="matrix-mark missing" aria-hidden="true" />
          {formatNumber(missing)} without a value
        </span>
      )}
    </div>
  );
}
