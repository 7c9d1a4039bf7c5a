/** Opens a page for the person who sits at this machine, where there is a desktop to open it on. */
import { spawn } from "node:child_process";
import { once } from "node:events";

/** `link` is asked for only when there is somebody to show it to: it is good once. */
export async function openBrowser(link: () => Promise<string>, env: NodeJS.ProcessEnv): Promise<boolean> {
  const mac = process.platform === "darwin";
  const desktop = mac || Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"]);
  // Over ssh the screen is another machine's; in CI there is nobody.
  if (!desktop || env["SSH_CONNECTION"] || env["CI"] || process.stdout.isTTY !== true) return false;
  const child = spawn(mac ? "open" : "xdg-open", [await link()], { stdio: "ignore", detached: true, env });
  child.unref();
  try {
    await once(child, "spawn");
    return true;
  } catch {
    return false;
  }
}
