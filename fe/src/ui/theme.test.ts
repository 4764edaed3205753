/** Text must be readable in both themes: WCAG AA, a contrast of 4.5. */
import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

const CSS = readFileSync(new URL("../app/theme.css", import.meta.url), "utf8");
const AA = 4.5;
/** Lines and bars need less: WCAG 1.4.11. */
const AA_GRAPHICS = 3;

function variables(block: string): Map<string, string> {
  return new Map([...block.matchAll(/--([\w-]+):\s*(#[0-9a-f]{6})/g)].map(([, name = "", value = ""]) => [name, value]));
}

const [LIGHT_BLOCK = "", DARK_BLOCK = ""] = CSS.split(':root[data-theme="dark"]');
const THEMES = { light: variables(LIGHT_BLOCK), dark: variables(DARK_BLOCK) };

function luminance(color: string): number {
  const channel = (at: number) => {
    const value = parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(a: string, b: string): number {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

describe.each(Object.entries(THEMES))("the %s theme", (_name, colors) => {
  const color = (name: string) => colors.get(name) ?? "";

  it.each(["text", "text-soft", "text-faint", "accent", "bad"])("%s is readable on every background", (name) => {
    for (const ground of ["bg", "surface", "raised", "hover"]) {
      expect(contrast(color(name), color(ground)), `${name} on ${ground}`).toBeGreaterThanOrEqual(AA);
    }
  });

  it("text is readable on selections, and warnings on their background", () => {
    expect(contrast(color("text"), color("chosen"))).toBeGreaterThanOrEqual(AA);
    expect(contrast(color("warn"), color("warn-bg"))).toBeGreaterThanOrEqual(AA);
  });

  it("categories have different colours with contrast to the background", () => {
    const categories = [...colors.keys()].filter((name) => name.startsWith("cat-"));
    expect(categories).toHaveLength(9);
    expect(new Set(categories.map(color)).size).toBe(9);
    for (const name of ["cat-kernel", "cat-tensor-core", "cat-communication", "cat-dataloader", "cat-cpu-exec", "cat-memset"]) {
      expect(contrast(color(name), color("surface")), name).toBeGreaterThanOrEqual(AA_GRAPHICS);
    }
  });

  it("overlap differs from the categories in lightness too", () => {
    expect(contrast(color("mark-overlap"), color("surface"))).toBeGreaterThanOrEqual(AA_GRAPHICS);
    for (const name of ["cat-kernel", "cat-communication", "cat-cpu-exec", "cat-other"]) {
      expect(contrast(color("mark-overlap"), color(name)), name).toBeGreaterThan(1.5);
    }
  });

  it("kernels on Tensor Cores differ from other kernels in lightness too", () => {
    expect(contrast(color("cat-tensor-core"), color("cat-kernel"))).toBeGreaterThan(1.5);
  });

  it("waits differ from the background and from all work", () => {
    expect(contrast(color("mark-wait"), color("surface"))).toBeGreaterThanOrEqual(AA_GRAPHICS);
    const others = [...colors].filter(([name]) => /^(cat|mark)-/.test(name) && name !== "mark-wait");
    for (const [name, value] of others) expect(value, name).not.toBe(color("mark-wait"));
  });
});
