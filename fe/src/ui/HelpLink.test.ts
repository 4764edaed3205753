import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";

import { HelpLink } from "./HelpLink";

const markup = (address: string) => renderToStaticMarkup(createElement(HelpLink, { address, children: "More" }));

it("links to a page of a site", () => {
  expect(markup("https://docs.example/advice.html#straggler")).toContain('href="https://docs.example/advice.html#straggler"');
});

it.each(["docs/advice.md#straggler", "javascript:alert(1)", "//elsewhere.example/advice.html"])("shows what no browser could open as text: %s", (address) => {
  expect(markup(address)).toBe(`<code>${address}</code>`);
});
