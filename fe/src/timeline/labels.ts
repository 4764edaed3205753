/** Text that fits into a slice. Widths are measured once per name: measuring is dearer than drawing. */
import { shortenMiddle } from "../lib/shorten";
import { visibleText } from "../lib/visibleText";

export const LABEL_FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';
/** Left and right of the text. */
export const LABEL_PADDING_PX = 4;
/** Narrower slices stay without text. */
export const LABEL_MIN_PX = 26;
/** Fewer letters are not legible as a name. */
const MIN_LETTERS = 3;
/** Shorter names are not split. */
const MIDDLE_FROM = 12;
/** Names are as many as a trace has; forgotten all at once beyond this. */
const MAX_KNOWN = 20_000;

/** Of a step the number is what counts. */
const STEP_NUMBER = /^ProfilerStep(#\d+)$/;
/** Texts are shortened to widths in these steps, so that a zoom measures few of them. */
const ROOM_STEP_PX = 8;

interface Known {
  readonly text: string;
  readonly widthPx: number;
  /** By room: what of the text fits. */
  readonly short: Map<number, string | null>;
}

export class Labels {
  private readonly tidied = new Map<string, Known>();

  /** @param measure Width of a text in pixels. */
  constructor(private readonly measure: (text: string) => number) {}

  /** The part of `name` that fits into `widthPx`; null when too little would fit. */
  fit(name: string, widthPx: number): string | null {
    const room = widthPx - 2 * LABEL_PADDING_PX;
    const known = this.tidied.get(name) ?? this.remember(name);
    if (known.widthPx <= room) return known.text;
    return this.shorten(known, Math.floor(room / ROOM_STEP_PX) * ROOM_STEP_PX);
  }

  private remember(name: string): Known {
    if (this.tidied.size > MAX_KNOWN) this.tidied.clear();
    const text = tidy(name);
    const known = { text, widthPx: this.measure(text), short: new Map<number, string | null>() };
    this.tidied.set(name, known);
    return known;
  }

  private shorten(known: Known, roomPx: number): string | null {
    const before = known.short.get(roomPx);
    if (before !== undefined) return before;
    const short = this.shortest(known, roomPx);
    known.short.set(roomPx, short);
    return short;
  }

  private shortest({ text, widthPx }: Known, roomPx: number): string | null {
    const step = STEP_NUMBER.exec(text)?.[1];
    if (step !== undefined) return this.measure(step) <= roomPx ? step : null;
    // Letters differ in width: the first guess may be a little too long.
    for (let letters = Math.ceil((roomPx / widthPx) * text.length); letters >= MIN_LETTERS; letters--) {
      const short = letters < MIDDLE_FROM ? `${text.slice(0, letters)}…` : shortenMiddle(text, letters);
      if (this.measure(short) <= roomPx) return short;
    }
    return null;
  }
}

/** Every C++ kernel is "void"; a line break in a name would be drawn as a box, and a canvas obeys marks of direction. */
function tidy(name: string): string {
  return visibleText(name.replace(/^void /, "").replace(/[\u0000-\u001f]+/g, " "));
}
