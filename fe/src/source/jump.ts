/** Opens a source line from this window, as `editor.ts` describes. */
import { editorProblem, editorUrl, isRelative, mapPath, mayReceiveSource, sourceMessage, type EditorSettings, type SourceLine } from "./editor";

interface Ancestor {
  readonly page: Window;
  readonly origin: string;
}

/** The pages around this frame, nearest first, with their origins if the browser has them. */
function ancestors(): Ancestor[] {
  const origins = window.location.ancestorOrigins as DOMStringList | undefined;
  const ancestors: Ancestor[] = [];
  let page: Window = window;
  for (const origin of origins ?? []) {
    page = page.parent;
    ancestors.push({ page, origin });
  }
  return ancestors;
}

/** Embedding pages that open source lines. */
function listeners(): Ancestor[] {
  return ancestors().filter(({ origin }) => mayReceiveSource(origin, window.location.origin));
}

/** Why a frame cannot be opened, or null. */
export function cannotJump(source: SourceLine, settings: EditorSettings): string | null {
  if (source.line < 1) return "The trace has no line number for this frame.";
  const problem = editorProblem(settings);
  return problem === null || listeners().length > 0 ? null : `${problem} See “Help and settings” (?).`;
}

/** False when the line cannot be opened, as its path is relative to an unknown folder. */
export function jumpToSource(source: SourceLine, settings: EditorSettings): boolean {
  const message = sourceMessage(source);
  if (message === null) return true;
  const pages = listeners();
  for (const { page, origin } of pages) page.postMessage(message, origin);
  if (pages.length > 0) return true;
  if (isRelative(mapPath(source.path, settings))) return false;
  if (editorProblem(settings) === null) openEditor(editorUrl(source, settings));
  return true;
}

/** Clicks a link instead of navigating: the page stays when no program handles the URL. */
function openEditor(url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.rel = "noopener";
  link.click();
}
