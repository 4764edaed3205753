/**
 * Jump to source: from a frame of a call stack to the line in an editor.
 *
 * Framed by VS Code's TensorBoard view, the frame is posted to the pages around, whose script opens
 * the file; it listens only to messages of the origin it serves. Anywhere else the editor's own
 * address opens it, after the recorded prefix of the path is replaced by the local one. The recording
 * leaves out the folders Python imports from, so many paths are relative (`torch/nn/…`): what lies below
 * no recorded prefix is looked for under a folder of its own.
 */
import { encodePath, fillTemplate, templateProblem } from "./editorTemplate";

export interface SourceLine {
  readonly path: string;
  /** Counted from 1, as in the trace; 0 when the trace does not know it. */
  readonly line: number;
}

export type EditorName = "vscode" | "cursor" | "pycharm" | "vscode-remote" | "template";

export interface EditorSettings {
  readonly editor: EditorName;
  /** Recorded prefix → local prefix; empty means paths are as recorded. */
  readonly from: string;
  readonly to: string;
  /** Where paths that are relative lie here; empty when nobody said. */
  readonly relativeTo: string;
  /** The remote that VS Code connects to: `ssh-remote+host`, `wsl+Ubuntu`, `dev-container+…`; a bare host is one of SSH. */
  readonly remote: string;
  /** The address of another editor, with `{path}`, `{line}` and `{column}`. */
  readonly template: string;
}

export const EDITORS: Readonly<Record<EditorName, string>> = {
  vscode: "VS Code",
  cursor: "Cursor",
  pycharm: "PyCharm",
  "vscode-remote": "VS Code, on a remote machine",
  template: "Another, by its address",
};

const FRAME_PAREN = /^(.+?)\((\d+)\)(?::\s*(.*))?$/;
const FRAME_COLON = /^(.+?):(\d+)(?::\s*(.*)|\s+(.*))?$/;

/** The frames of a stack as one text: separated by `;` or line ends, innermost first. */
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

/** Where the file lies here, as far as the settings say. */
export function mapPath(path: string, { from, to, relativeTo }: EditorSettings): string {
  const mapped = replacePrefix(path, withoutEnd(from), to);
  return isRelative(mapped) && relativeTo !== "" ? `${withoutEnd(relativeTo)}/${mapped}` : mapped;
}

/** Prefixes end at a folder, so `/work` does not match `/workspace`. */
function replacePrefix(path: string, prefix: string, to: string): string {
  if (prefix === "" || !path.startsWith(prefix)) return path;
  const rest = path.slice(prefix.length);
  if (rest !== "" && !/^[\\/]/.test(rest)) return path;
  return withoutEnd(to) + rest;
}

function withoutEnd(folder: string): string {
  return folder.replace(/[\\/]+$/, "");
}

/** Neither `/a` nor `C:\a`: no editor can open it. */
export function isRelative(path: string): boolean {
  return !/^([\\/]|[A-Za-z]:[\\/])/.test(path);
}

/** Why the chosen editor cannot be addressed, or null. */
export function editorProblem({ editor, remote, template }: EditorSettings): string | null {
  if (editor === "template") return templateProblem(template);
  return editor === "vscode-remote" && !REMOTE.test(remote.trim()) ? "Name the remote: ssh-remote+host, wsl+Ubuntu, or the host alone." : null;
}

/** The address that makes the chosen editor open the line; what {@link editorProblem} refuses is never asked for. */
export function editorUrl({ path, line: recorded }: SourceLine, settings: EditorSettings): string {
  const local = mapPath(path, settings).replace(/\\/g, "/");
  const line = Math.max(1, recorded);
  const absolute = local.startsWith("/") ? local : `/${local}`;
  if (settings.editor === "pycharm") return `pycharm://open?file=${encodeURIComponent(local)}&line=${line}`;
  if (settings.editor === "template") return fillTemplate(settings.template, local, line);
  if (settings.editor === "vscode-remote") return `vscode://vscode-remote/${remoteAuthority(settings.remote)}${encodePath(absolute)}:${line}`;
  return `${settings.editor}://file${encodePath(absolute)}:${line}`;
}

/** A kind of remote and which one, as VS Code names them; or a host. */
const REMOTE = /^([a-z][a-z0-9-]*\+)?[\w.@%-]+$/i;

function remoteAuthority(remote: string): string {
  const text = remote.trim();
  return text.includes("+") ? text : `ssh-remote+${text}`;
}

/** What VS Code's view listens for. */
export interface SourceMessage {
  readonly filename: string;
  /** Counted from 0: a frame whose line is unknown (0) cannot be sent. */
  readonly line: number;
}

export function sourceMessage({ path, line }: SourceLine): SourceMessage | null {
  return line < 1 ? null : { filename: path, line: line - 1 };
}

/** Web hosts VS Code in a browser serves its frames from. */
const VSCODE_WEB = /^https:\/\/([a-z0-9-]+\.)*vscode-cdn\.net$/;
const LOOPBACK = /^https?:\/\/(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;

/**
 * Whether a page of this origin around us may learn paths of the trace: VS Code's own frames, or a
 * page of this machine. Any other page that frames us must not.
 */
export function mayReceiveSource(origin: string, ownOrigin: string): boolean {
  if (origin === ownOrigin) return false;
  return origin.startsWith("vscode-webview://") || VSCODE_WEB.test(origin) || LOOPBACK.test(origin);
}
