import { expect, it, onTestFinished } from "vitest";
import { serve } from "../../src/doors/http/serve.ts";
import { lab } from "../support/lab.ts";
import { ask } from "../support/net/http.ts";

it("a program that looks at a login link before the person does (HEAD) neither spends it nor gets a session", async () => {
  const { workspace } = lab();
  const served = await serve(workspace, { host: "127.0.0.1", port: 0, allowRemote: false, tell: () => undefined });
  onTestFinished(() => served.close());
  const { pathname } = new URL(served.link);
  for (const path of [pathname, pathname, "/login/none"]) {
    const { status, headers } = await ask(served.url, path, { method: "HEAD" });
    expect([status, headers["set-cookie"]]).toEqual([200, undefined]);
  }
  const opened = await ask(served.url, pathname);
  expect([opened.status, String(opened.headers["set-cookie"])]).toEqual([303, expect.stringContaining("HttpOnly")]);
  expect((await ask(served.url, pathname)).status).toBe(403);
});
