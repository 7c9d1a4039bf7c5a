/** What the browser tests share: a workspace, a server in a process of its own, a page that is logged in. */
import type { ChildProcess } from "node:child_process";
import axe from "axe-core";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { expect } from "vitest";
import { CHROMIUM, openBrowser } from "../support/net/browser.ts";
import { serveScene } from "../support/net/scene/scene.ts";
import { patient } from "../support/patience.ts";
import { Lab } from "../support/workspace.ts";

/** Tests are skipped, and say so, where there is no browser. */
export const noBrowser: boolean = CHROMIUM === "";
if (noBrowser) console.warn("SKIPPED: no Chromium here. Next: apt-get install chromium, or MIDWATCH_CHROMIUM");

export class Stage {
  readonly lab: Lab = new Lab();
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];
  /** What must never happen: dialogs of scripts, errors of the page, refusals of the policy. */
  readonly trouble: string[] = [];
  /** What the console may say: a server that was killed is no trouble of the page. */
  expected: RegExp = /ERR_CONNECTION|WebSocket connection/;
  server: ChildProcess | undefined;
  port = 0;
  url = "";

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async open(): Promise<Stage> {
    return new Stage(await openBrowser());
  }

  async serve(): Promise<string> {
    const served = await serveScene(this.lab, this.port);
    this.server = served.server;
    this.port = served.port;
    this.url = `http://127.0.0.1:${served.port}`;
    return served.link;
  }

  /** Ends the server as a crash would. */
  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.server?.once("exit", resolve));
    this.server?.kill("SIGKILL");
    await ended;
  }

  async page(link: string, size: { width: number; height: number } = { width: 1280, height: 800 }): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: size, reducedMotion: "reduce" });
    this.#contexts.push(context);
    const page = await context.newPage();
    page.setDefaultTimeout(patient(20_000));
    page.on("dialog", (dialog) => {
      this.trouble.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on("pageerror", (error) => this.trouble.push(`error: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" && !this.expected.test(message.text()))
        this.trouble.push(`console: ${message.text()}`);
    });
    await page.goto(link);
    return page;
  }

  /** Goes to a place without loading the page again. */
  async to(page: Page, hash: string): Promise<void> {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close();
    await this.#browser.close();
    await this.lab.end();
    expect(this.trouble).toEqual([]);
  }
}

/** Findings that shut somebody out, as `rule: where`; of all rules, or of one. Of many rows the first stand for all. */
export async function findings(page: Page, rule?: string): Promise<string[]> {
  const only = rule === undefined ? "" : `, runOnly: ${JSON.stringify([rule])}`;
  return await page.evaluate(`(async () => {
    if (!window.axe) { ${axe.source} }
    const { violations } = await window.axe.run({ exclude: [[".line-row:nth-child(n+20)"], [".event:nth-child(n+20)"]] }, { resultTypes: ["violations"]${only} });
    return violations
      .filter(({ impact }) => impact === "serious" || impact === "critical")
      .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => id + ": " + target.join(" ") + " " + failureSummary));
  })()`);
}
