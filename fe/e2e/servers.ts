/** Starts the real servers on free ports of this machine, and ends exactly those. */
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
export const SAMPLES = join(ROOT, "samples");
/** Where the package is installed: the project's environment, or another one named by the caller. */
export const BIN = process.env["PROFILER_BIN"] ?? join(ROOT, ".venv", "bin");
const START_MS = 60_000;

export interface Server {
  readonly url: string;
  stop: () => Promise<void>;
}

/** `torch-tb-profiler serve PATH`, with more options. */
export async function serve(path: string, ...options: readonly string[]): Promise<Server> {
  const cache = mkdtempSync(join(tmpdir(), "profiler-e2e-"));
  const server = await start("torch-tb-profiler", ["serve", path, "--port", "0", "--cache-dir", cache, ...options]);
  return {
    url: server.url,
    stop: async () => {
      await server.stop();
      // The cache may still be written.
      rmSync(cache, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
    },
  };
}

/** TensorBoard with the plugin. */
export async function tensorboard(logdir: string): Promise<Server> {
  return start("tensorboard", ["--logdir", logdir, "--port", "0", "--host", "127.0.0.1", "--load_fast=false"]);
}

/** Runs a few lines of Python with the arguments that are given to them. */
export function python(code: string, ...args: readonly string[]): void {
  execFileSync(join(BIN, "python"), ["-c", code, ...args]);
}

async function start(program: string, args: readonly string[]): Promise<Server> {
  const child = spawn(join(BIN, program), args, { stdio: ["ignore", "pipe", "pipe"] });
  const url = await announcedUrl(child, program);
  return { url, stop: () => stopped(child) };
}

function announcedUrl(child: ChildProcess, program: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const timer = setTimeout(() => reject(new Error(`${program} announced no address: ${output}`)), START_MS);
    const listen = (chunk: Buffer) => {
      output += chunk.toString();
      const url = /http:\/\/[\w.[\]:]+:\d+\//.exec(output)?.[0];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on("data", listen);
    child.stderr?.on("data", listen);
    child.on("exit", (code) => {
      clearTimeout(timer);
      reject(new Error(`${program} ended with ${code ?? "a signal"}: ${output}`));
    });
  });
}

function stopped(child: ChildProcess): Promise<void> {
  return new Promise((done) => {
    if (child.exitCode !== null) {
      done();
      return;
    }
    child.on("exit", () => done());
    child.kill("SIGTERM");
    setTimeout(() => child.kill("SIGKILL"), 5000).unref();
  });
}
