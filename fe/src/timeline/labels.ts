/** Text that fits into a slice. Widths are measured once per name: measuring is dearer than drawing. */
import { shortenMiddle } from "../lib/shorten";

export const LABEL_FONT = '11px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';
/** Left and right of the text. */
export const LABEL_PADDING_PX = 4;
/** Narrower slices stay without text. */
export const LABEL_MIN_PX = 26;
/** Fewer letters tell nothing. */
const MIN_LETTERS = 3;
/** Names are as many as a trace has; forgotten all at once beyond this. */
const MAX_KNOWN = 20_000;

export class Labels {
  private readonly widths = new Map<string, number>();
  private readonly shortened = new Map<string, string>();

  /** @param measure Width of a text in pixels. */
  constructor(private readonly measure: (text: string) => number) {}

  /** What of `name` fits into `widthPx`; null when nothing sensible does. */
  fit(name: string, widthPx: number): string | null {
    const room = widthPx - 2 * LABEL_PADDING_PX;
    const text = tidy(name);
    const width = this.width(text);
    if (width <= room) return text;
    const letters = Math.floor((room / width) * text.length) - 1;
    if (letters < MIN_LETTERS) return null;
    return this.shorten(text, letters);
  }

  private width(text: string): number {
    const known = this.widths.get(text);
    if (known !== undefined) return known;
    if (this.widths.size > MAX_KNOWN) this.widths.clear();
    const width = this.measure(text);
    this.widths.set(text, width);
    return width;
  }

  private shorten(text: string, letters: number): string {
    const key = `${letters} ${text}`;
    const known = this.shortened.get(key);
    if (known !== undefined) return known;
    if (this.shortened.size > MAX_KNOWN) this.shortened.clear();
    const short = shortenMiddle(text, letters);
    this.shortened.set(key, short);
    return short;
  }
}

/** Every C++ kernel is "void"; a line break in a name would be drawn as a box. */
function tidy(name: string): string {
  return name.replace(/^void /, "").replace(/[\u0000-\u001f]+/g, " ");
}
