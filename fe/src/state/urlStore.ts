/** Reads and writes the {@link Params} of the page and tells who listens; see `address.ts` for where they live. */
import { useSyncExternalStore } from "react";

import {
  formatFragment,
  isActiveTab,
  mergeHostFragment,
  parseFragment,
  parseHostFragment,
  type Params,
} from "./address";
import { AGGREGATIONS_KEY } from "./aggregations";
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
    return null; // another origin (a notebook, an editor): the frame's own fragment has to do
  }
}

let current: Params = {};
const listeners = new Set<() => void>();

function readAddress(): Params {
  const own = parseFragment(window.location.hash);
  if (Object.keys(own).length > 0) return own;
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

function adopt(params: Params): void {
  if (formatFragment(params) === formatFragment(current)) return;
  current = params;
  copyToHost(params);
  for (const listener of listeners) listener();
}

/** Starts listening to the address; returns what stops it. */
export function startUrlStore(): () => void {
  current = readAddress();
  // Also in the frame's own address: that is where "back" comes back to.
  writeOwn(current, false);
  copyToHost(current);
  const onOwnChange = ({ state }: PopStateEvent) => {
    adopt(parseFragment(window.location.hash));
    restoreScroll(state);
  };
  const onHostChange = () => {
    const host = readableHost();
    if (host === null) return;
    const theirs = parseHostFragment(host.location.hash, PLUGIN_NAME);
    // TensorBoard rewrites its address without our part when its tabs change: put it back.
    if (Object.keys(theirs).length === 0) copyToHost(current);
    else if (formatFragment(theirs) !== formatFragment(current)) writeOwn(theirs, true);
  };
  window.addEventListener("popstate", onOwnChange);
  const host = readableHost();
  host?.addEventListener("hashchange", onHostChange);
  const shown = new ResizeObserver(() => {
    if (document.documentElement.clientWidth > 0) copyToHost(current);
  });
  shown.observe(document.documentElement);
  return () => {
    window.removeEventListener("popstate", onOwnChange);
    host?.removeEventListener("hashchange", onHostChange);
    shown.disconnect();
  };
}

function writeOwn(params: Params, push: boolean): void {
  // The whole path: inside TensorBoard a `<base>` would lead a bare "#…" elsewhere.
  const { pathname, search } = window.location;
  const fragment = formatFragment(params);
  const address = pathname + search + (fragment === "" ? "" : `#${fragment}`);
  if (push) {
    rememberScroll();
    window.history.pushState(null, "", address);
  }
  else window.history.replaceState(window.history.state, "", address);
  adopt(params);
}

function patched(patch: Patch): Params {
  const next = new Map(Object.entries(current));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined || value === "") next.delete(key);
    else next.set(key, value);
  }
  return Object.fromEntries(next);
}

/** Another place to go back from: a view, a run, a selection, a grouping. */
export function navigate(patch: Patch): void {
  writeOwn(patched(patch), true);
}

/** The same place, looked at differently: a filter while it is typed, a default filled in. */
export function adjust(patch: Patch): void {
  writeOwn(patched(patch), false);
}

/** What belongs to the frame and survives a change of view. */
const FRAME_KEYS: ReadonlySet<string> = new Set(["run", "worker", "span", "names", AGGREGATIONS_KEY, ...SELECTION_KEYS]);
const BASELINE = /^baseline_/;

/** Parameters of another view: those of the frame are kept, `extra` is added. */
export function viewParams(params: Params, view: string, extra: Params = {}): Params {
  const kept = Object.entries(params).filter(([key]) => FRAME_KEYS.has(key) || BASELINE.test(key));
  return { ...Object.fromEntries(kept), view, ...extra };
}

export function goToView(view: string, extra: Params = {}): void {
  const isOther = current["view"] !== view;
  writeOwn(viewParams(current, view, extra), true);
  if (isOther) scrollToTop();
}

/** The address of a view, for a real link that can be opened in a new tab. */
export function viewHref(params: Params, view: string, extra: Params = {}): string {
  const { pathname, search } = window.location;
  return `${pathname}${search}#${formatFragment(viewParams(params, view, extra))}`;
}

export function useParams(): Params {
  return useSyncExternalStore(subscribe, () => current);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
