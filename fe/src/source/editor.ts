/**
 * Jump to source: from a frame of a call stack to the line in an editor.
 *
 * Inside VS Code's TensorBoard view, the frame is posted to the embedding pages, whose script opens the file; it
 * accepts only messages of the origin it serves. Elsewhere the URL of the editor opens it, after the recorded
 * prefix of the path is replaced by the local one. Recordings omit the folders Python imports from, so many paths
 * are relative (`torch/nn/…`): these are resolved against a folder named in the settings.
 */
import { encodePath, fillTemplate, templateProblem } from "./editorTemplate";

export interface SourceLine {
  readonly path: string;
  /** Counted from 1, as in the trace; 0 when it is unknown. */
  readonly line: number;
}

export type EditorName = "vscode" | "cursor" | "pycharm" | "vscode-remote" | "template";

export interface EditorSettings {
  readonly editor: EditorName;
  /** Recorded prefix → local prefix; empty means paths are as recorded. */
  readonly from: string;
  readonly to: string;
  /** The local folder of relative paths; empty when it is unknown. */
  readonly relativeTo: string;
  /** The remote that VS Code connects to: `ssh-remote+host`, `wsl+Ubuntu`, `dev-container+…`; a bare host means SSH. */
  readonly remote: string;
  /** The URL of another editor, with `{path}`, `{line}` and `{column}`. */
  readonly template: string;
}

export const EDITORS: Readonly<Record<EditorName, string>> = {
  vscode: "VS Code",
  cursor: "Cursor",
  pycharm: "PyCharm",
  "vscode-remote": "VS Code, on a remote machine",
  template: "Other (URL template)",
};

const FRAME_PAREN = /^(.+?)\((\d+)\)(?::\s*(.*))?$/;
const FRAME_COLON = /^(.+?):(\d+)(?::\s*(.*)|\s+(.*))?$/;

/** Splits the text of a stack into frames, which `;` or line ends separate, innermost first. */
export function splitStack(stack: string): string[] {
  return stack
    .split(/[;\n]/)
    .map((frame) => frame.trim())
    .filter((frame) => frame !== "");
}

/** A frame of a call stack: `train.py(12): step`, the form traces use, or `train.py:12: step`. */
export function parseFrame(text: string): { source: SourceLine; name: string } | null {
  const frame = text.trim();
  const match = FRAME_PAREN.exec(frame) ?? FRAME_COLON.exec(frame);
  if (match === null) return null;
  const [, path = "", line = "0", name, other] = match;
  // Builtins such as `<built-in method ...>` and torch's own C++ frames have no file to open.
  if (path.startsWith("<") || !/[./\\]/.test(path)) return null;
  return { source: { path, line: Number(line) }, name: name ?? other ?? "" };
}

/** The local path of a recorded one, by the settings. */
export function mapPath(path: string, { from, to, relativeTo }: EditorSettings): string {
  const mapped = replacePrefix(path, trimSlashes(from), to);
  return isRelative(mapped) && relativeTo !== "" ? `${trimSlashes(relativeTo)}/${mapped}` : mapped;
}

/** Prefixes end at a folder, so `/work` does not match `/workspace`. */
function replacePrefix(path: string, prefix: string, to: string): string {
  if (prefix === "" || !path.startsWith(prefix)) return path;
  const rest = path.slice(prefix.length);
  if (rest !== "" && !/^[\\/]/.test(rest)) return path;
  return trimSlashes(to) + rest;
}

function trimSlashes(folder: string): string {
  return folder.replace(/[\\/]+$/, "");
}

/** Neither `/a` nor `C:\a`: no editor can open it. */
export function isRelative(path: string): boolean {
  return !/^([\\/]|[A-Za-z]:[\\/])/.test(path);
}

/** Why the chosen editor cannot be opened, or null. */
export function editorProblem({ editor, remote, template }: EditorSettings): string | null {
  if (editor === "template") return templateProblem(template);
  return editor === "vscode-remote" && !REMOTE.test(remote.trim()) ? "Enter the remote: ssh-remote+host, wsl+Ubuntu, or only the host." : null;
}

/** The URL that opens the line in the chosen editor; only for settings without an {@link editorProblem}. */
export function editorUrl({ path, line: recorded }: SourceLine, settings: EditorSettings): string {
  const local = mapPath(path, settings).replace(/\\/g, "/");
  const line = Math.max(1, recorded);
  const absolute = local.startsWith("/") ? local : `/${local}`;
  if (settings.editor === "pycharm") return `pycharm://open?file=${encodeURIComponent(local)}&line=${line}`;
  if (settings.editor === "template") return fillTemplate(settings.template, local, line);
  if (settings.editor === "vscode-remote") return `vscode://vscode-remote/${remoteAuthority(settings.remote)}${encodePath(absolute)}:${line}`;
  return `${settings.editor}://file${encodePath(absolute)}:${line}`;
}

/** A remote as VS Code names it, kind and host, or only a host. */
const REMOTE = /^([a-z][a-z0-9-]*\+)?[\w.@%-]+$/i;

function remoteAuthority(remote: string): string {
  const text = remote.trim();
  return text.includes("+") ? text : `ssh-remote+${text}`;
}

/** The message that VS Code's view accepts. */
export interface SourceMessage {
  readonly filename: string;
  /** Counted from 0: a frame whose line is unknown (0) cannot be sent. */
  readonly line: number;
}

export function sourceMessage({ path, line }: SourceLine): SourceMessage | null {
  return line < 1 ? null : { filename: path, line: line - 1 };
}

/** Hosts from which VS Code for the Web serves its frames. */
const VSCODE_WEB = /^https:\/\/([a-z0-9-]+\.)*vscode-cdn\.net$/;
const LOOPBACK = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Whether an embedding page of this origin may receive paths of the trace: frames of VS Code, or a page of this
 * machine. Any other embedding page must not.
 */
export function mayReceiveSource(origin: string, pageOrigin: string): boolean {
  if (origin === pageOrigin) return false;
  return origin.startsWith("vscode-webview://") || VSCODE_WEB.test(origin) || LOOPBACK.test(origin);
}
