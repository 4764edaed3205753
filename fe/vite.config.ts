import { defineConfig } from "vitest/config";

// Two entries: `index.js` is the module TensorBoard imports (its name must not change), `index.html`
// is the page of the standalone server. Both load the same application chunk, relative to themselves.
export default defineConfig({
  base: "./",
  build: {
    outDir: "../torch_tb_profiler/static",
    emptyOutDir: true,
    target: "es2022",
    // An inlined asset would need `data:` in the content security policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 800,
    rollupOptions: {
      input: { page: "index.html", index: "src/index.ts" },
      preserveEntrySignatures: "exports-only",
      // Marks for frameworks that render on a server; there is none.
      onLog: (level, log, handle) => log.code !== "MODULE_LEVEL_DIRECTIVE" && handle(level, log),
      output: {
        entryFileNames: (chunk) => (chunk.name === "index" ? "index.js" : "assets/[name]-[hash].js"),
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
  server: {
    host: "127.0.0.1",
    proxy: { "/api": process.env["API"] ?? "http://127.0.0.1:6007" },
  },
  test: { include: ["src/**/*.test.{ts,tsx}", "eslint/**/*.test.js"], environment: "node" },
});
