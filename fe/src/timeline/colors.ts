/** Colours as the canvas needs them: from the theme's variables, or from the name. */
import { chartColors } from "../chart/colors";
import type { Rgb } from "./rects";

export const COLOR_MODES = ["category", "name", "duration"] as const;

export type ColorMode = (typeof COLOR_MODES)[number];

/** `#1f5fbf`, `#fff` or `rgb(31 95 191)` as numbers; grey for anything else. */
export function parseColor(text: string): Rgb {
  const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim())?.[1];
  if (hex !== undefined) {
    const value = Number.parseInt(hex.length === 3 ? hex.replace(/./g, "$&$&") : hex, 16);
    return [value >> 16, (value >> 8) & 255, value & 255];
  }
  const parts = text.match(/\d+(\.\d+)?/g)?.map(Number) ?? [];
  return parts.length >= 3 ? [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0] : [128, 128, 128];
}

/** `share` of `color` over the rest of `base`. */
export function mix(base: Rgb, color: Rgb, share: number): Rgb {
  const part = (index: 0 | 1 | 2) => Math.round(base[index] + (color[index] - base[index]) * share);
  return [part(0), part(1), part(2)];
}

/** Relative luminance (WCAG 2.2), 0 black to 1 white. */
export function luminance([red, green, blue]: Rgb): number {
  const linear = (part: number) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

/** Black and white: one of them always has a contrast of 4.5 or more. */
const DARK_TEXT = "#000000";
const LIGHT_TEXT = "#ffffff";

/** Whichever of dark and light text has more contrast on `color`. */
export function textOn(color: Rgb): string {
  const light = luminance(color);
  return (light + 0.05) / (luminance(parseColor(DARK_TEXT)) + 0.05) > 1.05 / (light + 0.05) ? DARK_TEXT : LIGHT_TEXT;
}

/** A number that is the same for the same text in every session (FNV-1a). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/** Hues that people with any colour vision tell apart (Okabe and Ito). */
const HUES: readonly Rgb[] = [
  [0, 114, 178],
  [230, 159, 0],
  [0, 158, 115],
  [204, 121, 167],
  [86, 180, 233],
  [213, 94, 0],
  [240, 228, 66],
];
/** How much white or black is mixed in, so that many names differ. */
const TINTS = [-0.3, -0.15, 0, 0.2, 0.4];

/** A hue and a lightness per name: of many names some share both. */
export function colorOfName(name: string, dark: boolean): Rgb {
  const hash = hashText(name);
  const hue = HUES[hash % HUES.length] ?? [128, 128, 128];
  const tint = (TINTS[Math.floor(hash / HUES.length) % TINTS.length] ?? 0) - (dark ? 0.1 : 0);
  return tint < 0 ? mix(hue, [0, 0, 0], -tint) : mix(hue, [255, 255, 255], tint);
}

/** Neighbours of one category differ a little in lightness, so that they are seen as two. */
const SHADES = [-0.1, 0, 0.08, 0.16];

export function shade(color: Rgb, name: string): Rgb {
  const amount = SHADES[hashText(name) % SHADES.length] ?? 0;
  return amount < 0 ? mix(color, [0, 0, 0], -amount) : mix(color, [255, 255, 255], amount);
}

/** The variables of the theme the timeline draws with, read once per theme. */
export interface Palette {
  readonly dark: boolean;
  readonly background: Rgb;
  readonly raised: string;
  readonly surface: string;
  readonly line: string;
  readonly lineStrong: string;
  readonly text: string;
  readonly soft: string;
  readonly accent: string;
  readonly warn: string;
  /** Colour of a CSS variable. */
  readonly color: (variable: string) => Rgb;
}

export function readPalette(): Palette {
  const { color: cssColor } = chartColors();
  const known = new Map<string, Rgb>();
  const background = parseColor(cssColor("--surface"));
  return {
    dark: luminance(background) < 0.2,
    background,
    raised: cssColor("--raised"),
    surface: cssColor("--surface"),
    line: cssColor("--line"),
    lineStrong: cssColor("--line-strong"),
    text: cssColor("--text"),
    soft: cssColor("--text-soft"),
    accent: cssColor("--accent"),
    warn: cssColor("--warn"),
    color: (variable) => {
      const color = known.get(variable) ?? parseColor(cssColor(variable));
      known.set(variable, color);
      return color;
    },
  };
}
