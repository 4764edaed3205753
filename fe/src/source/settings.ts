/** The chosen editor and path map, remembered in the browser. */
import { useSyncExternalStore } from "react";

import { EDITORS, type EditorName, type EditorSettings } from "./editor";

const STORAGE_KEY = "torch-tb-profiler.editor";
const DEFAULTS: EditorSettings = { editor: "vscode", from: "", to: "", relativeTo: "", remote: "", template: "" };
const listeners = new Set<() => void>();
let settings = read();

function read(): EditorSettings {
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}") as Partial<Record<keyof EditorSettings, unknown>>;
    const text = (value: unknown) => (typeof value === "string" ? value : "");
    const editor = text(stored.editor);
    return {
      editor: Object.hasOwn(EDITORS, editor) ? (editor as EditorName) : DEFAULTS.editor,
      from: text(stored.from),
      to: text(stored.to),
      relativeTo: text(stored.relativeTo),
      remote: text(stored.remote),
      template: text(stored.template),
    };
  } catch {
    return DEFAULTS;
  }
}

export function saveEditorSettings(next: EditorSettings): void {
  settings = next;
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
  } catch {
    // not remembered, but in force
  }
  for (const listener of listeners) listener();
}

export function useEditorSettings(): EditorSettings {
  return useSyncExternalStore(subscribe, () => settings);
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
