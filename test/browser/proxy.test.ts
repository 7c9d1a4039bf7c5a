import { afterAll, describe, expect, it } from "vitest";
import { openBrowser } from "../support/net/browser.ts";
import { noProxy, startProxied } from "../support/net/proxy.ts";
import { patient } from "../support/patience.ts";
import { Lab } from "../support/workspace.ts";
import { noBrowser } from "./stage.ts";

describe.skipIf(noBrowser || noProxy)("behind the proxy of docs/http.md", () => {
  const lab = new Lab();
  afterAll(() => lab.end());

  it("a browser logs in over TLS, and the page is live", async () => {
    const proxied = await startProxied(lab);
    const browser = await openBrowser([`--host-resolver-rules=MAP box ${proxied.address}`]);
    try {
      const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
      page.setDefaultTimeout(patient(20_000));
      await page.goto(proxied.link);
      await page.getByText("No agents yet").waitFor();
      await page.locator(".link.open").waitFor();
      expect(page.url()).toBe("https://box:8443/");
      await lab.run("sleep", "60");
      await page.getByText("sleep").first().waitFor();
    } finally {
      await browser.close();
    }
  });
});
