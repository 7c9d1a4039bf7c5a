import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findings, noBrowser, Stage } from "./stage.ts";

/** Another server of this machine, as an agent may start one: it notes all that a browser sends, and its page asks for all it can. */
class Neighbour {
  readonly seen: string[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on("upgrade", (request, socket) => {
      this.#note(request);
      socket.destroy();
    });
    server.on("request", (request, answer) => {
      this.#note(request);
      answer.setHeader("Set-Cookie", "midwatch=planted; Path=/");
      answer.setHeader("Content-Type", "text/html");
      answer.end("<title>neighbour</title>");
    });
  }

  static async start(): Promise<Neighbour> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Neighbour(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #note({ method, url, rawHeaders }: IncomingMessage): void {
    this.seen.push([method, url, ...rawHeaders].join("\n"));
  }

  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** What a page of the neighbour gets of the dashboard, each way as text; run inside that page. */
function reach(url: string): string {
  return `(async () => {
    const url = ${JSON.stringify(url)};
    const tried = async (act) => { try { return String(await act()); } catch (error) { return "refused: " + error.name; } };
    const socket = (protocols) => new Promise((resolve) => {
      const opened = new WebSocket(url.replace("http", "ws") + "/live", protocols);
      opened.onopen = () => resolve("open");
      opened.onclose = () => resolve("refused: closed");
    });
    const framed = new Promise((resolve) => {
      const frame = document.createElement("iframe");
      frame.src = url + "/";
      frame.onload = () => { try { resolve(frame.contentWindow.localStorage.getItem("midwatch.session")); } catch (error) { resolve("refused: " + error.name); } };
      document.body.append(frame);
    });
    const opened = window.open(url + "/");
    // Until it has gone there it is an empty page of our own.
    const popup = async () => {
      for (let left = 400; left > 0 && opened.localStorage.getItem("midwatch.session") === null; left--)
        await new Promise((resolve) => setTimeout(resolve, 50));
      return opened.localStorage.getItem("midwatch.session");
    };
    return {
      fetched: await tried(async () => (await fetch(url + "/api/ls", { credentials: "include" })).text()),
      changed: await tried(async () => (await fetch(url + "/api/task", { method: "POST", credentials: "include", headers: { "content-type": "text/plain" }, body: '{"description":"planted"}' })).text()),
      blind: await tried(async () => (await fetch(url + "/api/ls", { mode: "no-cors", credentials: "include" })).type),
      socket: await socket(["midwatch"]),
      plain: await socket([]),
      framed: await framed,
      popup: await tried(popup),
      own: String(localStorage.getItem("midwatch.session")),
      cookies: document.cookie,
    };
  })()`;
}

const VIEWS = [390, 1280, 1920].flatMap((width) => (["light", "dark"] as const).map((scheme) => ({ width, scheme })));

describe.skipIf(noBrowser)("the session of a browser", () => {
  let stage: Stage;
  let page: Page;
  let link = "";

  beforeAll(async () => {
    stage = await Stage.open();
    stage.expected = /ERR_|WebSocket|403|401|frame|CORS|Failed to load/;
    link = await stage.serve();
    page = await stage.page(link);
    await page.getByText("No agents yet").waitFor();
  });
  afterAll(() => stage.close());

  const kept = (of: Page): Promise<string | null> => of.evaluate(`localStorage.getItem("midwatch.session")`);

  it("is in the storage of the page, and neither in its address, nor its history, nor a cookie", async () => {
    const session = await kept(page);
    expect(session).toMatch(/^[\w-]+\.\d+\.[\w-]+$/);
    expect(page.url()).toBe(`${stage.url}/`);
    await page.goBack();
    expect(page.url()).not.toContain(session);
    await page.goto(stage.url);
    await page.getByText("No agents yet").waitFor();
    expect(await page.context().cookies()).toEqual([]);
    await page.locator(".link.open").waitFor();
  });

  it("reaches no server on another port of this machine, whose page can read and change nothing", async () => {
    const neighbour = await Neighbour.start();
    try {
      const session = (await kept(page)) as string;
      const theirs = await page.context().newPage();
      await theirs.goto(neighbour.url);
      const reached = await theirs.evaluate(reach(stage.url));
      expect(reached).toEqual({
        fetched: "refused: TypeError",
        changed: "refused: TypeError",
        blind: "refused: TypeError",
        socket: "refused: closed",
        plain: "refused: closed",
        framed: "refused: SecurityError",
        popup: "refused: SecurityError",
        own: "null",
        cookies: "midwatch=planted",
      });
      // Also when the dashboard's own tab goes there.
      await page.goto(`${neighbour.url}/here`);
      expect(neighbour.seen.length).toBeGreaterThan(1);
      for (const seen of neighbour.seen) {
        expect(seen).not.toContain(session);
        expect(seen.toLowerCase()).not.toContain("authorization");
      }
      expect(stage.lab.workspace.runs.tasks()).toEqual([]);
      // The cookie that the neighbour planted for this address troubles nobody.
      await page.goto(stage.url);
      await page.getByText("No agents yet").waitFor();
      for (const other of page.context().pages()) if (other !== page) await other.close();
    } finally {
      await neighbour.close();
    }
  });

  it("a used link leads to the page where there is a session, and else says what to do", async () => {
    await page.goto(link);
    await page.getByText("No agents yet").waitFor();
    expect(page.url()).toBe(`${stage.url}/`);
    const stranger = await stage.page(link);
    await stranger.getByRole("heading", { name: "This link was used already, or is too old" }).waitFor();
    await stranger.getByText("midwatch up --link").waitFor();
    expect(await kept(stranger)).toBeNull();
    for (const { width, scheme } of VIEWS) {
      await stranger.setViewportSize({ width, height: 800 });
      await stranger.emulateMedia({ colorScheme: scheme });
      expect([width, scheme, await findings(stranger)]).toEqual([width, scheme, []]);
      expect(await stranger.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    }
  });

  it("one that the server does not know any more signs the page out", async () => {
    await page.evaluate(`localStorage.setItem("midwatch.session", "x.99999999999999.x")`);
    await page.reload();
    await page.getByRole("heading", { name: "You are signed out" }).waitFor();
  });
});
