/** A real Chromium: Debian's, or the one that MIDWATCH_CHROMIUM names. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

export const CHROMIUM: string =
  process.env["MIDWATCH_CHROMIUM"] ??
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path)) ??
  "";

export async function openBrowser(args: readonly string[] = []): Promise<Browser> {
  // Without it a wheel moves the page for as long as the machine likes.
  const calm = ["--no-sandbox", "--disable-gpu", "--disable-smooth-scrolling"];
  return await chromium.launch({ executablePath: CHROMIUM, args: [...calm, ...args] });
}
