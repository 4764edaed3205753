import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

import imports from "./eslint/imports.js";

/** Folders of `src/`: each imports only from those before it. The two entries beside them may import any. */
const LAYERS = ["generated", "api", "lib", "state", "ui", "chart", "table", "source", "timeline", "pages", "app"];

export default tseslint.config(
  ...tseslint.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { "react-hooks": hooks, imports },
    rules: {
      ...hooks.configs.recommended.rules,
      // The rule speaks of React's compiler, which is not used.
      "react-hooks/incompatible-library": "off",
      "imports/no-cycle": "error",
      "imports/layers": ["error", { root: `${import.meta.dirname}/src`, order: LAYERS }],
      "no-eval": "error",
      "max-lines": ["error", 400],
      "no-restricted-properties": [
        "error",
        { property: "innerHTML", message: "Text of traces is hostile: use textContent." },
        { property: "outerHTML", message: "Text of traces is hostile: use textContent." },
      ],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  { ignores: ["eslint.config.js", "eslint/**", "src/generated/**"] },
);
