/** Spend over time on the page: bars, sums, keys, a table, in every width, light and dark. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Ledger } from "../../src/spend/ledger.ts";
import { findings, noBrowser, Stage } from "./stage.ts";

/** Where pictures go, for a person who wants to look. */
const PICTURES = process.env["COST_PICTURES"];
const HOUR_MS = 3_600_000;
const MODELS = ["claude-opus-4-5", "claude-sonnet-4-5", "claude-haiku-4-5", "gpt-5", "gpt-5-mini"];
const AGENTS = Array.from({ length: 12 }, (_, n) => `agent-with-a-long-name-${n}`);

/** A day of twelve agents on three tasks, one of them of a model without a price. */
function fill(root: string): number {
  const ledger = new Ledger(() => join(process.env["XDG_STATE_HOME"] as string, "midwatch", "spend.db"));
  const { id } = JSON.parse(readFileSync(join(root, "workspace.json"), "utf8")) as { id: string };
  const workspace = { id, project: join(root, "..") };
  const now = Date.now();
  let sum = 0;
  for (const [n, agent] of AGENTS.entries()) {
    let usd = 0;
    for (let hour = 23; hour >= 0; hour--) {
      if ((hour + n) % 4 === 0) continue;
      usd += ((n + 2) * (1 + Math.sin(hour))) / 16;
      const tokens = { input: Math.round(usd * 1e5), output: Math.round(usd * 1e4), cache_read: 0, cache_write: 0 };
      const unknown = n === 11;
      const parts = [
        {
          model: unknown ? "tomorrow" : (MODELS[n % 5] as string),
          tokens,
          usd: unknown ? null : usd,
          estimated: n % 2 === 0,
        },
      ];
      const totals = {
        workspace,
        task: `TASK-${n % 3}`,
        agent,
        run: 1,
        labels: [],
        parts,
        told_usd: null,
        final: false,
      };
      ledger.record(totals, now - hour * HOUR_MS);
    }
    if (n !== 11) sum += Math.round(usd * 1e6);
  }
  ledger.close();
  return sum / 1e6;
}

describe.skipIf(noBrowser)("the cost of a day", () => {
  let stage: Stage;
  let page: Page;
  let sum: number;

  beforeAll(async () => {
    stage = await Stage.open();
    const link = await stage.serve();
    sum = fill(stage.lab.root);
    page = await stage.page(link, { width: 1440, height: 900 });
    await stage.to(page, "#/cost");
    await page.locator(".spend rect.serie").first().waitFor();
  });
  afterAll(() => stage.close());

  it("is drawn as bars and summed, estimates and what is unknown marked", async () => {
    const spent = page.locator(".tile", { hasText: "Spent" });
    expect(await spent.locator(".value").innerText()).toBe(`~$${sum.toFixed(2)}`);
    expect(await spent.innerText()).toContain("1 run without a price");
    expect(await page.locator(".tile", { hasText: "Today" }).count()).toBe(1);
    expect(await page.locator(".spend .stretch").count()).toBeGreaterThanOrEqual(23);
    await page.getByRole("button", { name: "Model" }).click();
    await page.locator("tbody th", { hasText: "claude-opus-4-5" }).first().waitFor();
    await page.locator("tr", { hasText: "tomorrow" }).getByText("unknown").first().waitFor();
    // More than eight have a colour of their own no longer.
    await page.getByRole("button", { name: "Agent", exact: true }).click();
    await page.locator(".figures th", { hasText: "other" }).waitFor({ state: "attached" });
    expect(await page.locator(".card.table tbody tr").count()).toBe(12);
  });

  it("can be gone through by arrow keys, and be read as a table", async () => {
    await page.getByRole("button", { name: "Task" }).click();
    await page.locator("tbody th", { hasText: "TASK-0" }).first().waitFor();
    await page.locator(".bars").focus();
    await page.keyboard.press("End");
    const last = await page.locator(".readout").innerText();
    expect(last).toMatch(/^\d+ \w+ \d\d:\d\d–\d\d:\d\d ~\$\d+\.\d\d.*TASK-\d ~\$/);
    await page.keyboard.press("ArrowLeft");
    expect(await page.locator(".readout").innerText()).not.toBe(last);
    await page.getByText("As a table").click();
    const cells = await page.locator(".figures tbody tr").last().locator("td").allInnerTexts();
    const [all, parts] = [cells.at(-1), cells.slice(0, -1)].map((texts) =>
      [texts].flat().reduce((total, text) => total + Number((text ?? "").match(/\$([\d.]+)/)?.[1] ?? 0), 0),
    );
    expect(parts).toBeCloseTo(all ?? 0, 1);
    await page.getByText("As a table").click();
  });

  it.each([
    [1440, "light"],
    [1440, "dark"],
    [768, "light"],
    [768, "dark"],
    [390, "light"],
    [390, "dark"],
  ] as const)("fits %i pixels, %s, and shuts nobody out", async (width, colorScheme) => {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    await expect.poll(() => page.locator(".spend svg").getAttribute("width").then(Number)).toBeLessThan(width);
    const { scrollWidth, clientWidth } = await page.evaluate<{ scrollWidth: number; clientWidth: number }>(
      "({ scrollWidth: document.documentElement.scrollWidth, clientWidth: document.documentElement.clientWidth })",
    );
    expect(scrollWidth).toBeLessThanOrEqual(clientWidth);
    if (PICTURES !== undefined) {
      mkdirSync(PICTURES, { recursive: true });
      await page.screenshot({ path: join(PICTURES, `cost-${width}-${colorScheme}.png`), fullPage: true });
    }
    expect(await findings(page)).toEqual([]);
  });
});
