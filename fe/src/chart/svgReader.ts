/** A strict reader of SVG, for tests: what in a saved picture would run, load or lead elsewhere. */

interface SvgElement {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
}

interface Drawing {
  readonly elements: readonly SvgElement[];
  /** Text between tags, where there is any. */
  readonly texts: readonly string[];
}

const NO_XML = /[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const ATTRIBUTE = /\s+([\w:-]+)="([^"<]*)"/gy;
const ENTITIES: Readonly<Record<string, string>> = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };

/** @throws Error where the text is not well-formed XML. */
export function readSvg(svg: string): Drawing {
  if (NO_XML.test(svg)) throw new Error("a character that no XML holds");
  const elements: SvgElement[] = [];
  const texts: string[] = [];
  const open: string[] = [];
  for (const [, cdata, end, start, own = "", isEmpty, text] of svg.matchAll(/<!\[CDATA\[(.*?)\]\]>|<\/([\w:]+)>|<([\w:]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)|./gsu)) {
    if (start !== undefined) {
      elements.push({ name: start, attributes: new Map(Array.from(own.matchAll(ATTRIBUTE), ([, name = "", value = ""]) => [name, decoded(value)])) });
      if (isEmpty === "") open.push(start);
    } else if (end !== undefined) {
      if (open.pop() !== end) throw new Error(`</${end}> ends nothing`);
    } else if (text !== undefined) {
      if (text.trim() !== "") texts.push(decoded(text));
    } else if (cdata === undefined || /[<&@]|url/.test(cdata)) throw new Error("neither a tag nor a text");
  }
  if (open.length > 0) throw new Error(`<${open.join("> <")}> not ended`);
  return { elements, texts };
}

function decoded(text: string): string {
  return text.replace(/&[^&;]*;?/g, (entity) => {
    const character = ENTITIES[entity];
    if (character === undefined) throw new Error(`${entity} is no entity`);
    return character;
  });
}

const SHAPES = new Set(["svg", "g", "rect", "path", "line", "polyline", "circle", "text", "tspan", "defs", "clipPath", "style"]);

/** Elements that are no shapes, event handlers, and references to anything but this file. */
export function actingIn({ elements }: Drawing): string[] {
  return elements.flatMap(({ name, attributes }) => [
    ...(SHAPES.has(name) ? [] : [name]),
    ...[...attributes].filter(([key, value]) => /^on|href|^src/i.test(key) || /url\((?!#)/i.test(value)).map(([key, value]) => `${key}=${value}`),
  ]);
}
