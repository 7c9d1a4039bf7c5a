/** The program. It asks for the cache of compiled code before it loads the rest: what is loaded earlier is compiled at every start. */
import { enableCompileCache } from "node:module";
import { homedir } from "node:os";
import { join } from "node:path";

// What V8 made of the bundle is kept for the next start, where the user's cache can be written; it is a third of the time.
if (import.meta.url.endsWith(".js"))
  enableCompileCache(join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "midwatch", "compiled"));
// The companion stays for hours: it is spared what a command line needs.
if (process.argv[2] === "companion")
  process.exit(await (await import("../../fleet/companion.ts")).companion(process.argv.slice(3)));
const { start } = await import("./main.ts");
await start();
