import { describe, expect, it } from "vitest";

import { fillTemplate, templateProblem } from "./editorTemplate";

describe("a template", () => {
  it.each(["zed://file{path}:{line}:{column}", "idea://open?file={path}&line={line}", "VSCODE-INSIDERS://file{path}", " subl://open?url=file://{path} "])("%s is one", (template) => {
    expect(templateProblem(template)).toBeNull();
  });

  it.each([
    ["javascript:alert({path})", "javascript:"],
    ["JavaScript://%0aalert(1)//{path}", "javascript:"],
    ["data:text/html,{path}", "data:"],
    ["http://evil.test/?{path}", "http:"],
    ["https://evil.test/?{path}", "https:"],
    ["file://{path}", "file:"],
    ["blob:{path}", "blob:"],
    ["{path}", "starts with the scheme"],
    ["//evil.test/{path}", "starts with the scheme"],
    ["", "starts with the scheme"],
    ["zed://file", "{path}"],
    ["zed://file{path}:{row}", "{row}"],
  ])("%s is none", (template, problem) => {
    expect(templateProblem(template)).toContain(problem);
  });

  it("is filled so that a path ends nothing", () => {
    expect(fillTemplate("zed://file{path}:{line}:{column}", "/a b/c#d?e&{line}.py", 7)).toBe("zed://file/a%20b/c%23d%3Fe%26%7Bline%7D.py:7:1");
    expect(fillTemplate("idea://open?file={path}&line={line}", "C:/x.py", 3)).toBe("idea://open?file=C:/x.py&line=3");
  });
});
