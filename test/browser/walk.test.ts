import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { placeActor } from "../support/net/scene/scene.ts";
import { patient } from "../support/patience.ts";
import { noBrowser, Stage } from "./stage.ts";

/** Numbers of the lines that are in the document. */
async function numbers(page: Page): Promise<number[]> {
  return await page.locator(".line-row").evaluateAll((rows) => rows.map((row) => Number(row.getAttribute("data-seq"))));
}

describe.skipIf(noBrowser)("the whole walk", () => {
  let stage: Stage;
  let page: Page;

  beforeAll(async () => {
    stage = await Stage.open();
    page = await stage.page(await stage.serve());
  });
  afterAll(() => stage.close());

  it("R-003.21: an empty workspace says what to do, health tells who leads", async () => {
    await page.getByText("No agents yet").waitFor();
    await stage.to(page, "#/health");
    await page.getByRole("heading", { name: "Heartbeats" }).waitFor();
    await page
      .locator(".tile", { hasText: "Leader" })
      .getByText(/held · term 1/)
      .waitFor();
    await stage.to(page, "#/cost");
    await page.getByText("Nothing was used yet").waitFor();
    await stage.to(page, "#/");
    // Looking is no change: a page that is left open must not fill the journal.
    const told: string[] = [];
    for await (const { event } of stage.lab.workspace.journal.events({ last: 100 })) told.push(event.content);
    expect(told.filter((content) => content.includes("over HTTP"))).toEqual([]);
  });

  it("starts an agent, follows its log, stops it and shows the receipt", async () => {
    await page.keyboard.press("s");
    await page.getByRole("button", { name: "Any command" }).click();
    await page
      .getByLabel("Command")
      .fill(`sh -c 'sleep 300 & n=0; while :; do n=$((n+1)); echo "step $n of the walk"; sleep 0.05; done'`);
    await page.getByLabel("Name optional").fill("walker");
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByRole("heading", { name: /walker/ }).waitFor();
    await page.getByText("step 25 of the walk", { exact: true }).waitFor();

    // Paused, the log stands still while the agent goes on.
    await page.getByRole("button", { name: "Pause" }).click();
    const last = Math.max(...(await numbers(page)));
    const known = async (): Promise<number> =>
      Number.parseInt((await page.locator(".log-bar .size").innerText()).replaceAll(",", ""), 10);
    await expect.poll(known, { timeout: patient(20_000) }).toBeGreaterThan(last + 10);
    await page.getByRole("button", { name: "Follow" }).first().click();
    await page.getByText(`step ${last + 20} of the walk`, { exact: true }).waitFor();
    const seen = await numbers(page);
    expect(seen).toEqual(seen.map((_, i) => (seen[0] ?? 0) + i));

    await page.getByRole("button", { name: "Stop", exact: true }).click();
    await page.getByLabel("Why").fill("the walk is over");
    await page.getByRole("button", { name: "Stop it" }).click();
    await page.locator("dialog").getByText("Nothing is left").waitFor();
    await page.getByRole("button", { name: "Done" }).click();
    await page.locator(".agent-title").getByText("stopped").waitFor();
    await page.locator(".side").getByText("Nothing is left").waitFor();
    expect(stage.lab.survivors()).toEqual([]);
    const [stopped] = await stage.lab.workspace.runs.list();
    expect(stopped).toMatchObject({ outcome: "stopped", phase: "drained" });
  });

  it("tells who needs a person, and its evidence opens the lines", async () => {
    const bin = placeActor(stage.lab.folder, 20);
    const workspace = stage.lab.open({ env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` } });
    await workspace.runs.start({
      driver: "claude",
      name: "hunter",
      prompt: "Fix the flaky upload test.",
      permission: "edit",
    });
    await stage.to(page, "#/");
    const card = page.locator(".need", { hasText: "hunter" });
    await card.getByText("blocked: repeat").waitFor({ timeout: patient(40_000) });
    await page.getByRole("heading", { name: /1 agent needs you/ }).waitFor();
    await card.locator("a.quote").click();
    await page.locator(".line-row.target").waitFor();
    await page.locator(".side .evidence", { hasText: "Same" }).locator("a.quote").first().click();
    const line = Number(new URL(page.url()).hash.match(/line=(\d+)/)?.[1]);
    expect(line).toBeGreaterThan(1);
    expect(await page.locator(".line-row.target").getAttribute("data-seq")).toBe(String(line));
    // A tool call and its failure are told as such, not as JSON.
    await page.locator(".tool", { hasText: "npm test -- upload.test.ts" }).first().waitFor();
    await page.locator(".result.bad", { hasText: "expected 3 to equal 4" }).first().waitFor();
    // What is shown can be had as it is.
    await page.locator(".line-row.target").hover();
    await page.locator(".line-row.target .raw").click();
    await page.locator("dialog .raw-line", { hasText: '"type"' }).waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog").waitFor({ state: "detached" });
  });

  it("finds text and walks through the hits", async () => {
    const agents = await stage.lab.workspace.runs.list();
    const walker = agents.find(({ agent }) => agent.startsWith("walker"))?.agent;
    await stage.to(page, `#/agents/${walker}`);
    await page.getByRole("heading", { name: /walker/ }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("step 2");
    await page.keyboard.press("Enter");
    await page.locator(".hits").getByText(/^1 of/).waitFor();
    expect(await page.locator(".line-row.target").getAttribute("data-seq")).toBe("2");
    await page.getByLabel("Close the search").focus();
    await page.keyboard.press("n");
    await page.locator('.line-row.target[data-seq="20"]').waitFor();
    await page.getByLabel(/Go to a line/).fill("7");
    await page.keyboard.press("Enter");
    await page.locator('.line-row.target[data-seq="7"]').waitFor();
  });

  it("scrolls through more lines than a browser has pixels for", async () => {
    const lines = 2_000_000;
    const { agent } = await stage.lab.run("seq", "-f", "line %.0f", "1", String(lines));
    await stage.lab.workspace.runs.wait([agent]);
    await stage.to(page, `#/agents/${agent}`);
    const row = (n: number): ReturnType<Page["locator"]> => page.locator(`.line-row[data-seq="${n}"]`);
    await row(lines).waitFor();
    const view = await page.locator(".log").boundingBox();
    /** The line at the top of the view; each row must say its own number, and none may be left out. */
    const top = async (): Promise<number> => {
      const rows = await page.locator(".line-row").evaluateAll((all) =>
        all.map((one) => ({
          seq: Number(one.getAttribute("data-seq")),
          text: one.querySelector(".terminal")?.textContent,
          y: one.getBoundingClientRect().bottom,
        })),
      );
      expect(rows.map(({ seq }) => seq)).toEqual(rows.map((_, i) => (rows[0]?.seq ?? 0) + i));
      expect(rows.every(({ seq, text }) => text === `line ${seq}`)).toBe(true);
      return rows.find(({ y }) => y > (view?.y ?? 0))?.seq ?? 0;
    };
    // The bar is dragged to its middle.
    await page.locator(".log").evaluate((log) => log.scrollTo(0, (log.scrollHeight - log.clientHeight) / 2));
    await row(lines / 2 + 10).waitFor();
    const middle = await top();
    expect(Math.abs(middle - lines / 2)).toBeLessThan(lines / 1000);
    // The wheel moves by lines, not by shares of the log, also beyond what was there at first.
    await page.mouse.move((view?.x ?? 0) + 300, (view?.y ?? 0) + 200);
    for (let i = 0; i < 20; i++) {
      await page.mouse.wheel(0, 400);
      await page.waitForTimeout(60);
    }
    // The lines come from a server that reads this log for its verdict just now.
    await expect.poll(async () => (await top()) - middle, { timeout: patient(30_000) }).toBeGreaterThan(200);
    await page.waitForTimeout(400);
    const further = await top();
    expect(further - middle).toBeLessThan(500);
    // What was put right when the scrolling rested moved nothing by more than a pixel.
    const place = async (): Promise<number> => (await row(further + 1).boundingBox())?.y ?? Number.NaN;
    const before = await place();
    await page.waitForTimeout(400);
    expect(Math.abs((await place()) - before)).toBeLessThanOrEqual(1);
    await page.keyboard.press("t");
    await row(1).waitFor();
    expect(await top()).toBe(1);
  });

  it("goes on after the server was killed, without loss or repeat", async () => {
    const script = 'n=0; while :; do n=$((n+1)); echo "beat $n"; sleep 0.05; done';
    const { agent } = await stage.lab.sh(script);
    await stage.to(page, `#/agents/${agent}`);
    const last = async (): Promise<number> => Math.max(0, ...(await numbers(page)));
    await expect.poll(last, { timeout: patient(30_000) }).toBeGreaterThan(5);
    await stage.kill();
    await page.getByText("The server does not answer.").waitFor();
    await stage.serve();
    // It tries by itself; a person who knows better need not wait. The button may be gone before it is pressed.
    const back = page.getByText("The server does not answer.").waitFor({ state: "detached", timeout: patient(30_000) });
    const pressed = page.getByRole("button", { name: "Now" }).click();
    await Promise.race([pressed.catch(() => back), back]);
    await back;
    // Of many lines at once only the last are shown, so a certain one may never be.
    const now = await last();
    await expect.poll(last, { timeout: patient(30_000) }).toBeGreaterThan(now + 30);
    const rows = await page
      .locator(".line-row")
      .evaluateAll((all) =>
        all.map((row) => [Number(row.getAttribute("data-seq")), row.querySelector(".terminal")?.textContent]),
      );
    expect(rows).toEqual(rows.map((_, i) => [Number(rows[0]?.[0]) + i, `beat ${Number(rows[0]?.[0]) + i}`]));
  });
});
