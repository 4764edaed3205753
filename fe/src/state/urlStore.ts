/** Reads and writes the {@link Params} of the page and notifies listeners; `address.ts` describes the format. */
import { useSyncExternalStore } from "react";

import {
  formatFragment,
  isActiveTab,
  mergeHostFragment,
  parseFragment,
  parseHostFragment,
  type Params,
} from "./address";
import { SAVED_SELECTIONS_KEY } from "./savedSelections";
import { rememberScroll, restoreScroll, scrollToTop } from "./scroll";
import { SELECTION_KEYS } from "./selection";

export const PLUGIN_NAME = "pytorch_profiler";

export type Patch = Readonly<Record<string, string | null | undefined>>;

/** The window around this frame, when it is TensorBoard's and may be read; else null. */
function readableHost(): Window | null {
  try {
    const host = window.parent;
    if (host === window) return null;
    return isActiveTab(host.location.hash, PLUGIN_NAME) ? host : null;
  } catch {
    return null; // another origin (a notebook, an editor): only the fragment of the frame is available
  }
}

let current: Params = {};
const listeners = new Set<() => void>();

function readAddress(): Params {
  const ownParams = parseFragment(window.location.hash);
  if (Object.keys(ownParams).length > 0) return ownParams;
  const host = readableHost();
  return host === null ? {} : parseHostFragment(host.location.hash, PLUGIN_NAME);
}

function copyToHost(params: Params): void {
  const host = readableHost();
  if (host === null) return;
  const fragment = mergeHostFragment(host.location.hash, PLUGIN_NAME, params);
  if (fragment === host.location.hash) return;
  const { pathname, search } = host.location;
  host.history.replaceState(host.history.state, "", pathname + search + fragment);
}

/** The address of the page as it is shown, for other people: TensorBoard's where it frames the page. */
export function pageAddress(): string {
  return (readableHost() ?? window).location.href;
}

function adopt(params: Params): void {
  if (formatFragment(params) === formatFragment(current)) return;
  current = params;
  copyToHost(params);
  for (const listener of listeners) listener();
}

/** Starts listening to the address; returns what stops it. */
export function startUrlStore(): () => void {
  current = readAddress();
  // Also into the address of the frame: "back" returns to it.
  writeFragment(current, false);
  copyToHost(current);
  const onPopState = ({ state }: PopStateEvent) => {
    adopt(parseFragment(window.location.hash));
    restoreScroll(state);
  };
  const onHostChange = () => {
    const host = readableHost();
    if (host === null) return;
    const hostParams = parseHostFragment(host.location.hash, PLUGIN_NAME);
    // TensorBoard drops the part of the plugin from its address when its tabs change: restore it.
    if (Object.keys(hostParams).length === 0) copyToHost(current);
    else if (formatFragment(hostParams) !== formatFragment(current)) writeFragment(hostParams, true);
  };
  window.addEventListener("popstate", onPopState);
  const host = readableHost();
  host?.addEventListener("hashchange", onHostChange);
  const shown = new ResizeObserver(() => {
    if (document.documentElement.clientWidth > 0) copyToHost(current);
  });
  shown.observe(document.documentElement);
  return () => {
    window.removeEventListener("popstate", onPopState);
    host?.removeEventListener("hashchange", onHostChange);
    shown.disconnect();
  };
}

function writeFragment(params: Params, push: boolean): void {
  // The whole path: inside TensorBoard a `<base>` would redirect a bare "#…".
  const { pathname, search } = window.location;
  const fragment = formatFragment(params);
  const address = pathname + search + (fragment === "" ? "" : `#${fragment}`);
  if (push && address !== pathname + search + window.location.hash) {
    rememberScroll();
    window.history.pushState(null, "", address);
  }
  else window.history.replaceState(window.history.state, "", address);
  adopt(params);
}

function patched(params: Params, patch: Patch): Params {
  const next = new Map(Object.entries(params));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined || value === "") next.delete(key);
    else next.set(key, value);
  }
  return Object.fromEntries(next);
}

/** Changes the address with a new history entry: a view, a run, a selection, a grouping. */
export function navigate(patch: Patch): void {
  writeFragment(patched(current, patch), true);
}

/** Changes the address without a history entry: a filter while it is typed, a default filled in. */
export function adjust(patch: Patch): void {
  writeFragment(patched(current, patch), false);
}

/** Parameters of the frame, which survive a change of view. */
const FRAME_KEYS: ReadonlySet<string> = new Set(["run", "worker", "span", "names", SAVED_SELECTIONS_KEY, ...SELECTION_KEYS]);
const BASELINE = /^baseline_/;

/** Parameters of another view: those of the frame plus `extra`. */
export function viewParams(params: Params, view: string, extra: Params = {}): Params {
  const retained = Object.entries(params).filter(([key]) => FRAME_KEYS.has(key) || BASELINE.test(key));
  return { ...Object.fromEntries(retained), view, ...extra };
}

export function goToView(view: string, extra: Params = {}): void {
  const isOther = current["view"] !== view;
  writeFragment(viewParams(current, view, extra), true);
  if (isOther) scrollToTop();
}

/** The address of a view, for a real link that can be opened in a new tab. */
export function viewHref(params: Params, view: string, extra: Params = {}): string {
  return hrefOf(viewParams(params, view, extra));
}

/** The address of the same view with changes. */
export function patchedHref(params: Params, patch: Patch): string {
  return hrefOf(patched(params, patch));
}

function hrefOf(params: Params): string {
  const { pathname, search } = window.location;
  return `${pathname}${search}#${formatFragment(params)}`;
}

/**
 * The whole address of the page with `extra`, to send to somebody: inside TensorBoard that of TensorBoard, where the address
 * of the frame would show the page without it.
 */
export function pageLink(extra: Params = {}): string {
  const params = { ...current, ...extra };
  const host = readableHost();
  const { origin, pathname, search } = (host ?? window).location;
  const fragment = host === null ? `#${formatFragment(params)}` : mergeHostFragment(host.location.hash, PLUGIN_NAME, params);
  return origin + pathname + search + fragment;
}

export function useParams(): Params {
  return useSyncExternalStore(subscribe, () => current);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
