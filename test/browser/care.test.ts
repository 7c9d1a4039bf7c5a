import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playScene } from "../support/net/scene/scene.ts";
import { patient } from "../support/patience.ts";
import { findings, noBrowser, Stage } from "./stage.ts";

describe.skipIf(noBrowser)("the page with many agents", () => {
  let stage: Stage;
  let page: Page;
  let link: string;
  let lead = "";
  let suite = "";

  beforeAll(async () => {
    stage = await Stage.open();
    await playScene(stage.lab, 10);
    link = await stage.serve();
    page = await stage.page(link);
    const agents = await stage.lab.workspace.runs.list();
    lead = agents.find(({ agent }) => agent.startsWith("lead-"))?.agent ?? "";
    suite = agents.find(({ agent }) => agent.startsWith("suite-"))?.agent ?? "";
    await page.getByText(/agents need you/).waitFor({ timeout: patient(40_000) });
  });
  afterAll(() => stage.close());

  it("shows agents as trees by task", async () => {
    const task = page.getByRole("region", { name: /Port the parser/ });
    await task.locator('[data-depth="1"]', { hasText: "reviewer" }).waitFor();
    await page.getByLabel("Filter agents").fill("reviewer");
    expect(await page.locator(".task .row").count()).toBe(1);
    await page.getByLabel("Filter agents").fill("nobody at all");
    await page.getByText("Nobody matches").waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
  });

  it("a filter changes the list, never who needs a person", async () => {
    await stage.to(page, "#/");
    const heading = page.getByRole("heading", { level: 1 });
    const [said, cards] = [await heading.textContent(), await page.locator(".need").count()];
    await page.locator("main").focus();
    await page.keyboard.press("/");
    await page.keyboard.type("zzzz");
    await page.keyboard.press("Escape");
    await page.getByText("Nobody matches").waitFor();
    expect(await heading.textContent()).toBe(said);
    expect(said).toMatch(/agents need you/);
    expect(await page.locator(".need").count()).toBe(cards);
    await page.getByRole("button", { name: "Show all" }).click();
    const asks = page.locator(".need", { hasText: "store" });
    await asks.getByText("Which database should I use?").waitFor();
    await asks.getByText(/midwatch restart store-\S+ --resume "your answer"/).waitFor();
    const denied = page.locator(".need", { hasText: "publish" });
    await denied.getByText("Not permitted: Bash (npm publish --access public)").waitFor();
  });

  it("can be driven by the keyboard alone", async () => {
    await stage.to(page, "#/");
    await page.locator("main").focus();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    const chosen = await page.locator("[data-selected]").first().getAttribute("data-agent");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`agents/${chosen}`));
    await page.locator(".agent-title").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
    for (const [keys, title] of [
      ["gj", "Journal"],
      ["gh", "Health"],
      ["gc", "Cost"],
    ] as const) {
      for (const key of keys) await page.keyboard.press(key);
      await page.getByRole("heading", { name: title, level: 1 }).waitFor();
    }
    await page.keyboard.press("?");
    await page.getByRole("dialog", { name: "Keys" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await page.keyboard.press("w");
    await page.getByRole("heading", { name: "Agents", exact: true }).waitFor();
    await page.keyboard.press("/");
    await page.locator("input:focus[aria-label='Filter agents']").waitFor();
    await page.keyboard.press("Escape");
  });

  it("has conversations, and takes part in them", async () => {
    await stage.to(page, "#/journal");
    const talk = page.getByRole("region", { name: "Conversation 2" });
    await talk.getByText("Write down why").waitFor();
    await talk.getByLabel(/Say something/).fill("Is it done?");
    await page.keyboard.press("Enter");
    await talk.getByText("Is it done?").waitFor();
    await page.getByRole("button", { name: "All events" }).click();
    await page.locator(".event", { hasText: "Is it done?" }).waitFor();
  });

  it("shows HTML and escapes of agents, and obeys none", async () => {
    const attack = `<img src=x onerror="alert(1)"><script>window.pwned=1</script>`;
    const escapes =
      "\\033]0;owned\\007\\033[2J\\033]8;;javascript:alert(1)\\033\\\\link\\033]8;;\\033\\\\ \\033[31mred\\033[0m";
    const { agent } = await stage.lab.run(
      "sh",
      "-c",
      `printf '%s\\n' '${attack}'; printf '${escapes}\\n'; echo '{"html":"<svg onload=alert(2)>"}'; sleep 60`,
    );
    await stage.lab.workspace.journal.append({
      interaction: 9,
      actor: "<b onclick=alert(3)>x</b>",
      type: "note",
      content: attack,
    });
    await stage.to(page, `#/agents/${agent}`);
    await page.locator(".log").getByText(attack).waitFor();
    expect(await page.locator('[data-seq="2"] .terminal').textContent()).toBe("link red");
    expect(await page.locator('[data-seq="2"] .fg1').textContent()).toBe("red");
    await page.locator('[data-seq="3"]').getByText("<svg onload=alert(2)>").waitFor();
    await stage.to(page, "#/journal");
    await page.getByRole("region", { name: "Conversation 9" }).getByText(attack).waitFor();
    await page.getByText("<b onclick=alert(3)>x</b>").first().waitFor();
    expect(await page.locator("img, script:not([src]), main svg[onload]").count()).toBe(0);
    expect(await page.evaluate("window.pwned")).toBeUndefined();
    expect(await page.title()).not.toContain("owned");
    expect(stage.trouble).toEqual([]);
  });

  it("shuts nobody out: no serious finding of axe in any view, light and dark, wide and narrow", async () => {
    const views = ["#/", `#/agents/${lead}`, `#/agents/${suite}`, "#/journal", "#/health", "#/cost"];
    const problems: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      for (const hash of views) {
        await stage.to(page, hash);
        await page.locator("h1").waitFor();
        if (hash.includes("agents")) await page.locator(".line-row").first().waitFor();
        // Only the colours differ from the light theme.
        const rule = colorScheme === "dark" ? "color-contrast" : undefined;
        for (const found of await findings(page, rule)) problems.push(`${hash} ${colorScheme} ${found}`);
      }
      await page.keyboard.press("s");
      await page.getByRole("dialog").waitFor();
      for (const found of await findings(page)) problems.push(`start ${colorScheme} ${found}`);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "detached" });
    }
    await page.setViewportSize({ width: 390, height: 844 });
    for (const hash of ["#/", `#/agents/${lead}`]) {
      await stage.to(page, hash);
      await page.locator("h1").waitFor();
      for (const found of await findings(page)) problems.push(`${hash} phone ${found}`);
      const wide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
      expect(wide).toBe(false);
    }
    expect(problems).toEqual([]);
  });

  it("says what to do when nobody is logged in", async () => {
    stage.expected = /401|WebSocket connection/;
    const stranger = await stage.page(stage.url);
    await stranger.getByText("You are signed out").waitFor();
    await stranger.getByText("midwatch up --link").waitFor();
  });
});
