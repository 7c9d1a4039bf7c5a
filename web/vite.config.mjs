import { fileURLToPath } from "node:url";
import { createLogger, defineConfig } from "vite";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const logger = createLogger("warn");

export default defineConfig({
  root: at("."),
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: at("../dist/web"),
    emptyOutDir: true,
    target: "es2023",
    modulePreload: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // The page reads lines with the drivers' own readers. What else is in their files, and needs Node, is left out.
    rolldownOptions: { treeshake: { moduleSideEffects: (id) => !/\/src\/(core|drivers)\//.test(id) } },
  },
  customLogger: {
    ...logger,
    warn: (text, options) => {
      if (!text.includes("externalized for browser compatibility")) logger.warn(text, options);
    },
  },
});
