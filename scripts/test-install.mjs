// `npm run test:install`: packs midwatch, installs it under every Node that it takes, and builds and starts the container image. Takes some minutes,
// gets what it needs first, and says what cannot be had; `npm test` does the short form.
import { needCommands, root } from "./ready.mjs";
import { step } from "./step.mjs";

await needCommands(["debootstrap", "buildah", "qemu-aarch64-static"]);
const tools = await step(["node", "scripts/tools.mjs"], { cwd: root, limitMs: 20 * 60_000 });
const { code } = await step(["vitest", "run", "--project", "install"], {
  cwd: root,
  limitMs: 60 * 60_000,
  alone: true,
  show: ["inherit", "inherit"],
  env: { INSTALL_NODES: "20,22,24,26" },
});
process.exit(code || tools.code);
