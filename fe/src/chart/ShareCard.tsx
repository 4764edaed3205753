/** Parts of a whole: one stacked bar, and below it each part with its amount and share. */
import type { ReactNode } from "react";

import { PLAIN_COLUMN } from "../lib/columns";
import { toCsv } from "../lib/csv";
import { digitsFor, exactValue, formatNumber, NO_VALUE, withUnit } from "../lib/format";
import { scaleFor, type Scale } from "../lib/units";
import { chartColors } from "./colors";
import { pictureSvg, savePicture, type Picture, type PictureBox } from "./picture";
import { SaveMenu } from "./SaveMenu";
import { shownWidths } from "./shownWidths";
import { Swatch, SwatchToggle, useHiddenSeries } from "./SwatchToggle";

export interface SharePart {
  readonly name: string;
  /** Microseconds; null when unknown. */
  readonly us: number | null;
  readonly pct: number | null;
  /** The CSS variable of its colour. */
  readonly color: string;
  readonly label?: ReactNode;
}

interface Props {
  readonly title: string;
  readonly help: string;
  readonly parts: readonly SharePart[];
  /** Shown below the parts. */
  readonly totalUs?: number | null;
  /** Why an amount is null. */
  readonly nullReason: string;
  readonly fileName: string;
  /** Content above the bar: what it comes to. */
  readonly head?: ReactNode;
  /** Content below the parts. */
  readonly note?: ReactNode;
}

export function ShareCard({ title, help, parts, totalUs, nullReason, fileName, head, note }: Props) {
  const largestUs = Math.max(0, ...parts.map((part) => part.us ?? 0));
  const scale = scaleFor("us", largestUs);
  const text = (us: number | null) => amountText(us, scale, digitsFor(largestUs / scale.divisor, false));
  const series = useHiddenSeries();
  const shown = parts.filter(({ name }) => !series.hidden.has(name));
  const widths = shownWidths(parts, series.hidden);
  const picture = () => sharePicture(title, shown, widths, text);
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        <span style={{ flex: 1 }} />
        <SaveMenu fileName={fileName} savePicture={() => savePicture(fileName, picture())} svg={() => pictureSvg(picture())} csv={() => shareCsv(parts)} />
      </header>
      <div className="body">
        {head}
        <div className="split" aria-hidden="true">
          {shown.map((part) => (
            <i key={part.name} style={{ width: `${widths.get(part.name) ?? 0}%`, background: `var(${part.color})` }} title={part.name} />
          ))}
        </div>
        <table className="average">
          <tbody>
            {parts.map((part) => (
              <tr key={part.name} className={series.hidden.has(part.name) ? "soft" : undefined}>
                <th scope="row">
                  <SwatchToggle name={part.name} mark={<Swatch color={part.color} />} series={series} named={part.label === undefined} />
                  {part.label}
                </th>
                <td title={part.us === null ? nullReason : exactValue(part.us, "us")}>{text(part.us)}</td>
                <td title={part.pct === null ? nullReason : exactValue(part.pct, "pct")}>{shareText(part.pct)}</td>
              </tr>
            ))}
            {totalUs !== undefined && totalUs !== null && (
              <tr className="total">
                <th scope="row">Total</th>
                <td title={exactValue(totalUs, "us")}>{text(totalUs)}</td>
                <td />
              </tr>
            )}
          </tbody>
        </table>
        {note}
      </div>
    </section>
  );
}

/** Zero is "0", not "0.00"; a value too small for its digits is "<0.01", not zero. */
export function amountText(us: number | null, scale: Scale, digits: number): string {
  if (us === null) return NO_VALUE;
  if (us === 0) return `0 ${scale.label}`;
  const shown = us / scale.divisor;
  const smallest = 10 ** -digits;
  return shown < smallest / 2 ? `<${formatNumber(smallest, digits)} ${scale.label}` : `${formatNumber(shown, digits)} ${scale.label}`;
}

function shareText(pct: number | null): string {
  if (pct === null) return NO_VALUE;
  if (pct > 0 && pct < 0.05) return "<0.1 %";
  return pct === 0 ? "0 %" : `${formatNumber(pct, 1)} %`;
}

function shareCsv(parts: readonly SharePart[]): string {
  const column = (key: string) => ({ key, title: key, type: "string" as const, unit: null, help: "", ...PLAIN_COLUMN });
  return toCsv(["name", "duration_us", "pct"].map(column), parts.map(({ name, us, pct }) => [name, us, pct]));
}

interface BarProps extends Pick<Props, "title" | "help" | "parts" | "nullReason" | "fileName" | "note"> {
  /** Beside the title: the whole. */
  readonly subtitle: string;
  /** Content directly below the bar, as wide as it. */
  readonly below?: ReactNode;
}

/** Parts of a whole in few lines: the bar, and below it the parts with time one after another. */
export function ShareBar({ title, help, subtitle, parts, nullReason, fileName, below, note }: BarProps) {
  const known = parts.filter(({ us }) => us !== null && us !== 0);
  const unknown = parts.filter(({ us }) => us === null).map(({ name }) => name);
  const scale = scaleFor("us", Math.max(0, ...known.map((part) => part.us ?? 0)));
  const text = (us: number | null) => (us === null ? NO_VALUE : withUnit(us, scale, "us"));
  const series = useHiddenSeries();
  const shown = known.filter(({ name }) => !series.hidden.has(name));
  const widths = shownWidths(known, series.hidden);
  const picture = () => savePicture(fileName, sharePicture(title, shown, widths, text));
  return (
    <section className="card share-bar" aria-label={title}>
      <header>
        <h2 title={help}>{title}</h2>
        <span className="soft">{subtitle}</span>
        <span style={{ flex: 1 }} />
        <SaveMenu fileName={fileName} savePicture={picture} csv={() => shareCsv(parts)} />
      </header>
      <div className="body">
        <div className="split" aria-hidden="true">
          {shown.map((part) => (
            <i key={part.name} style={{ width: `${widths.get(part.name) ?? 0}%`, background: `var(${part.color})` }} title={part.name} />
          ))}
        </div>
        {series.hidden.size === 0 && below}
        <ul className="share-line">
          {known.map((part) => (
            <li key={part.name}>
              <SwatchToggle name={part.name} mark={<Swatch color={part.color} />} series={series} />
              <span title={exactValue(part.us, "us")}>{text(part.us)}</span>
              <span className="soft" title={exactValue(part.pct, "pct")}>
                {shareText(part.pct)}
              </span>
            </li>
          ))}
          {unknown.length > 0 && (
            <li className="soft" title={nullReason}>
              Not recorded: {unknown.join(", ")}
            </li>
          )}
        </ul>
        {note}
      </div>
    </section>
  );
}

const PICTURE_WIDTH_PX = 480;
const BAR_PX = 24;
const ROW_PX = 22;
const SWATCH_PX = 10;

function sharePicture(title: string, parts: readonly SharePart[], widths: ReadonlyMap<string, number>, text: (us: number | null) => string): Picture {
  const colors = chartColors();
  const width = ({ name }: SharePart) => widths.get(name) ?? 0;
  const starts = parts.map((_, index) => parts.slice(0, index).reduce((sum, part) => sum + width(part), 0));
  const bar = parts.map((part, index): PictureBox => ({
    x: ((starts[index] ?? 0) / 100) * PICTURE_WIDTH_PX,
    y: 0,
    width: (width(part) / 100) * PICTURE_WIDTH_PX,
    height: BAR_PX,
    fill: colors.color(part.color),
  }));
  const rows = parts.flatMap((part, index): PictureBox[] => {
    const y = BAR_PX + 8 + index * ROW_PX;
    const line = { y, height: ROW_PX, fill: colors.surface };
    return [
      { x: 0, y: y + (ROW_PX - SWATCH_PX) / 2, width: SWATCH_PX, height: SWATCH_PX, fill: colors.color(part.color) },
      { ...line, x: 16, width: 240, text: part.name },
      { ...line, x: 260, width: 110, text: text(part.us) },
      { ...line, x: 380, width: 100, text: shareText(part.pct) },
    ];
  });
  return { title, width: PICTURE_WIDTH_PX, height: BAR_PX + 8 + parts.length * ROW_PX, boxes: [...bar, ...rows] };
}
