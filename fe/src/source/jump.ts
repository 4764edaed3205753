/** Does what `editor.ts` describes, in this window. */
import { editorProblem, editorUrl, isRelative, mapPath, mayReceiveSource, sourceMessage, type EditorSettings, type SourceLine } from "./editor";

interface Ancestor {
  readonly page: Window;
  readonly origin: string;
}

/** The pages around this frame, nearest first, with their origins where the browser tells. */
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

/** Pages around us that open source lines. */
function listeners(): Ancestor[] {
  return ancestors().filter(({ origin }) => mayReceiveSource(origin, window.location.origin));
}

/** Why a frame cannot be opened, or null. */
export function cannotJump(source: SourceLine, settings: EditorSettings): string | null {
  if (source.line < 1) return "The trace does not say which line this is.";
  const problem = editorProblem(settings);
  return problem === null || listeners().length > 0 ? null : `${problem} See “Help and settings” (?).`;
}

/** False when nobody around opens it and no editor could: the path is relative, to what nobody said. */
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

/** A link that is clicked, not a navigation: the page stays when no program takes the address. */
function openEditor(url: string): void {
  const link = document.createElement("a");
  link.href = url;
  link.rel = "noopener";
  link.click();
}
