/** Light or dark: as chosen by the user, else like TensorBoard, else like the system. */
import { useSyncExternalStore } from "react";
import { flushSync } from "react-dom";

import { onPrinting } from "./printing";

export type Theme = "light" | "dark";

const STORAGE_KEY = "torch-tb-profiler.theme";
const systemDark = window.matchMedia("(prefers-color-scheme: dark)");
/** With forced system colours (Windows: high contrast) the theme follows the system, not the choice. */
const forced = window.matchMedia("(forced-colors: active)");
const listeners = new Set<() => void>();
let chosen: Theme | null = readChosen();
let printing = false;
let applied: Theme | null = null;

function readChosen(): Theme | null {
  try {
    const stored = localStorage.getItem(STORAGE_KEY);
    return stored === "light" || stored === "dark" ? stored : null;
  } catch {
    return null; // storage can be forbidden inside a frame
  }
}

/** The body of TensorBoard, which has the theme as a class; null for another origin. */
function hostBody(): HTMLElement | null {
  try {
    return window.parent === window ? null : window.parent.document.body;
  } catch {
    return null;
  }
}

/** The theme that is applied. Renders ask for it: a media query read between its switch and the next frame loses its event. */
export function theme(): Theme {
  applied ??= chosenTheme();
  return applied;
}

function chosenTheme(): Theme {
  if (printing) return "light"; // paper is white
  if (forced.matches) return systemDark.matches ? "dark" : "light";
  if (chosen !== null) return chosen;
  const host = hostBody();
  const dark = host === null ? systemDark.matches : host.classList.contains("dark-mode");
  return dark ? "dark" : "light";
}

function apply(): void {
  applied = chosenTheme();
  document.documentElement.dataset["theme"] = applied;
  for (const listener of listeners) listener();
}

export function startTheme(): void {
  apply();
  systemDark.addEventListener("change", apply);
  forced.addEventListener("change", apply);
  onPrinting((now) => {
    printing = now;
    // Charts must be redrawn before the browser captures the page.
    flushSync(apply);
  });
  const host = hostBody();
  if (host !== null) new MutationObserver(apply).observe(host, { attributeFilter: ["class"] });
}

export function chooseTheme(next: Theme): void {
  chosen = next;
  try {
    localStorage.setItem(STORAGE_KEY, next);
  } catch {
    // not stored, but shown
  }
  apply();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, theme);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
