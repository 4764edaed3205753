import { describe, expect, it } from "vitest";

import { editorProblem, editorUrl, isRelative, mapPath, mayReceiveSource, parseFrame, sourceMessage, splitStack } from "./editor";

const SETTINGS = { editor: "vscode", from: "/workspace/", to: "/home/me/src", relativeTo: "", remote: "", template: "" } as const;

describe("parseFrame", () => {
  it.each([
    ["train.py(12): step", "train.py", 12, "step"],
    ["/a (b)/c.py(3): <module>", "/a (b)/c.py", 3, "<module>"],
    ["C:\\src\\m.py(7): f", "C:\\src\\m.py", 7, "f"],
    ["torch/nn/modules/module.py(1501): _call_impl", "torch/nn/modules/module.py", 1501, "_call_impl"],
    ["a.py:9: g", "a.py", 9, "g"],
  ])("%s", (text, path, line, name) => {
    expect(parseFrame(text)).toEqual({ source: { path, line }, name });
  });

  it.each(["<built-in function linear>", "<string>(1): <module>", "nn.Module: Linear_0", ""])("no file in %s", (text) => {
    expect(parseFrame(text)).toBeNull();
  });
});

it("splits a stack", () => {
  expect(splitStack("a.py(1): f;b.py(2): g;\n c.py(3): h")).toEqual(["a.py(1): f", "b.py(2): g", "c.py(3): h"]);
});

describe("mapPath", () => {
  it.each([
    ["/workspace/m/train.py", "/home/me/src/m/train.py"],
    ["/workspace2/train.py", "/workspace2/train.py"],
    ["rel/train.py", "rel/train.py"],
  ])("%s → %s", (from, to) => {
    expect(mapPath(from, SETTINGS)).toBe(to);
  });

  it("does not change paths without a mapping", () => {
    expect(mapPath("/workspace/a.py", { ...SETTINGS, from: "" })).toBe("/workspace/a.py");
    expect(mapPath("torch/autograd/graph.py", { ...SETTINGS, from: "" })).toBe("torch/autograd/graph.py");
  });

  it.each([
    ["torch/autograd/graph.py", "/venv/lib/torch/autograd/graph.py"],
    ["train.py", "/venv/lib/train.py"],
    ["/workspace/m/train.py", "/home/me/src/m/train.py"],
    ["/other/train.py", "/other/train.py"],
    ["C:\\src\\m.py", "C:\\src\\m.py"],
  ])("a folder for relative paths: %s → %s", (from, to) => {
    expect(mapPath(from, { ...SETTINGS, relativeTo: "/venv/lib/" })).toBe(to);
  });

  it("prefers a mapping of the relative recorded prefix", () => {
    const settings = { ...SETTINGS, from: "torch", to: "/src/pytorch/torch", relativeTo: "/venv/lib" };
    expect(mapPath("torch/nn/a.py", settings)).toBe("/src/pytorch/torch/nn/a.py");
    expect(mapPath("torchvision/a.py", settings)).toBe("/venv/lib/torchvision/a.py");
  });
});

it("detects paths without a folder", () => {
  for (const path of ["torch/autograd/graph.py", "train.py", "./a.py", "C:a.py"]) expect(isRelative(path), path).toBe(true);
  for (const path of ["/a.py", "C:\\a.py", "d:/a.py", "\\\\host\\share\\a.py"]) expect(isRelative(path), path).toBe(false);
});

describe("editorUrl", () => {
  it("opens the line, counted from 1", () => {
    expect(editorUrl({ path: "/workspace/a b.py", line: 12 }, SETTINGS)).toBe("vscode://file/home/me/src/a%20b.py:12");
    expect(editorUrl({ path: "C:\\x\\m.py", line: 7 }, { ...SETTINGS, editor: "cursor" })).toBe("cursor://file/C:/x/m.py:7");
    expect(editorUrl({ path: "torch/a.py", line: 966 }, { ...SETTINGS, relativeTo: "/venv" })).toBe("vscode://file/venv/torch/a.py:966");
    expect(editorUrl({ path: "/a/b.py", line: 3 }, { ...SETTINGS, editor: "pycharm" })).toBe("pycharm://open?file=%2Fa%2Fb.py&line=3");
  });

  it.each([
    ["ssh-remote+gpu7", "vscode://vscode-remote/ssh-remote+gpu7/home/me/src/m.py:12"],
    ["me@gpu7.example", "vscode://vscode-remote/ssh-remote+me@gpu7.example/home/me/src/m.py:12"],
    ["wsl+Ubuntu-24.04", "vscode://vscode-remote/wsl+Ubuntu-24.04/home/me/src/m.py:12"],
    ["dev-container+2f686f6d65", "vscode://vscode-remote/dev-container+2f686f6d65/home/me/src/m.py:12"],
  ])("opens it on the remote %s", (remote, url) => {
    const settings = { ...SETTINGS, editor: "vscode-remote", remote } as const;
    expect(editorProblem(settings)).toBeNull();
    expect(editorUrl({ path: "/workspace/m.py", line: 12 }, settings)).toBe(url);
  });

  it("refuses an invalid remote, and a template for another scheme", () => {
    for (const remote of ["", "host/../../x", "ssh-remote+a/b", "a b"]) {
      expect(editorProblem({ ...SETTINGS, editor: "vscode-remote", remote }), remote).toContain("remote");
    }
    expect(editorProblem({ ...SETTINGS, editor: "template", template: "javascript:{path}" })).toContain("javascript:");
    expect(editorProblem({ ...SETTINGS, template: "javascript:{path}" })).toBeNull();
  });

  it("fills the template of another editor", () => {
    const settings = { ...SETTINGS, editor: "template", template: "zed://file{path}:{line}:{column}" } as const;
    expect(editorUrl({ path: "/workspace/m.py", line: 0 }, settings)).toBe("zed://file/home/me/src/m.py:1:1");
  });

  it("cannot be led out of its scheme by a hostile path", () => {
    expect(editorUrl({ path: "javascript:alert(1)//x.py?#", line: 1 }, SETTINGS)).toMatch(/^vscode:\/\/file\/javascript:alert\(1\)\/\/x\.py%3F%23:1$/);
  });
});

describe("sourceMessage", () => {
  it("counts lines from 0, so a line 0 cannot be sent", () => {
    expect(sourceMessage({ path: "a.py", line: 12 })).toEqual({ filename: "a.py", line: 11 });
    expect(sourceMessage({ path: "a.py", line: 1 })).toEqual({ filename: "a.py", line: 0 });
    expect(sourceMessage({ path: "a.py", line: 0 })).toBeNull();
  });
});

it("sends paths only to VS Code and to this machine", () => {
  const ownOrigin = "http://localhost:6006";
  for (const origin of ["vscode-webview://1abc", "https://1abc.vscode-cdn.net", "http://localhost:3000", "http://127.0.0.1:8080"]) {
    expect(mayReceiveSource(origin, ownOrigin)).toBe(true);
  }
  for (const origin of [ownOrigin, "https://evil.example", "https://vscode-cdn.net.evil.example", "http://localhost.evil.example", "null"]) {
    expect(mayReceiveSource(origin, ownOrigin)).toBe(false);
  }
});
