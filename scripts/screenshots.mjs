// `node scripts/screenshots.mjs [FOLDER] [--all]`: plays a scene with scripted agents and takes pictures of the dashboard. Without a folder
// those that the documents show go to docs/screenshots; with --all every view in every width, light and dark.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openBrowser } from "../test/support/net/browser.ts";
import { playScene, serveScene } from "../test/support/net/scene/scene.ts";
import { Lab } from "../test/support/workspace.ts";

const all = process.argv.includes("--all");
const folder = process.argv.slice(2).find((word) => !word.startsWith("--")) ?? "docs/screenshots";
const WIDTHS = { 390: 844, 1280: 760, 1920: 1080 };
/** What the README and docs/dashboard.md show. */
const README = [
  ...Object.keys(WIDTHS).flatMap((width) => [`home-${width}-light`, `home-${width}-dark`]),
  ...["agent-1280-dark", "blocked-1920-light", "journal-1280-light"],
];

mkdirSync(folder, { recursive: true });
const lab = new Lab();
const browser = await openBrowser();
try {
  await playScene(lab, 1);
  const { link } = await serveScene(lab);
  const agents = await lab.workspace.list();
  const named = (name) => agents.find(({ agent }) => agent.startsWith(`${name}-`))?.agent;
  const views = {
    home: "#/",
    agent: `#/agents/${named("lead")}`,
    blocked: `#/agents/${named("flake-hunter")}`,
    suite: `#/agents/${named("suite")}`,
    journal: "#/journal",
    health: "#/health",
    cost: "#/cost",
  };
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(link);
  await sleep(45_000); // Until the watch has seen enough to say something.
  for (const [width, height] of Object.entries(WIDTHS))
    for (const scheme of ["light", "dark"])
      for (const [name, hash] of Object.entries(views)) {
        const title = `${name}-${width}-${scheme}`;
        if (!all && !README.includes(title)) continue;
        await page.setViewportSize({ width: Number(width), height });
        await page.emulateMedia({ colorScheme: scheme });
        await page.goto(new URL(`/${hash}`, link).href);
        await sleep(1500);
        await page.screenshot({ path: join(folder, `${title}.png`) });
        console.log(title);
      }
} finally {
  await browser.close();
  await lab.end();
}
