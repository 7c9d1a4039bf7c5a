import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { masker } from "../core/mask/mask.ts";
import { makeEvent } from "../journal/event.ts";
import { type Alert, makeAlert } from "./message.ts";
import { retryAfter } from "./post.ts";
import { desktopCommand, request, send } from "./send.ts";
import type { WebRoute } from "./settings.ts";
import { keyOfSecret, signed } from "./sign.ts";

function alert(content: string, more: Partial<Alert> = {}): Alert {
  const event = makeEvent({ interaction: 0, actor: "Agent A", type: "error", content, data: { password: "hunter2x" } });
  return { ...makeAlert(event, [masker()]), ...more };
}
const web = { name: "ops", url: new URL("https://example.com/base/topic"), private: false };
const body = (route: WebRoute, made: Alert): unknown => JSON.parse(request(route, made, 0).body);

describe("a message", () => {
  it("R-003.22: is signed so that the reference library takes it, and nothing else", () => {
    const secret = `whsec_${Buffer.from("a key that has more than 24 bytes").toString("base64")}`;
    const key = keyOfSecret(secret) as Buffer;
    const made = alert("Grüße 🚨");
    const { body: text, headers } = request({ ...web, to: "webhook", key }, made, Date.now());
    expect(new Webhook(secret).verify(text, headers)).toMatchObject({ type: "error", data: { text: "Grüße 🚨" } });
    expect(headers["webhook-id"]).toBe(made.id);
    for (const wrong of [signed(key, made.id, Date.now() - 600_000, text), signed(key, "another", Date.now(), text)])
      expect(() => new Webhook(secret).verify(text, { ...wrong, "webhook-id": made.id })).toThrow();
    expect(() => new Webhook(secret).verify(`${text} `, headers)).toThrow();
    for (const bad of ["", "whsec_", "whsec_short", "whsec_not base64 at all, is it? no", `whsec_${"A".repeat(200)}`])
      expect(keyOfSecret(bad)).toBeUndefined();
  });

  it("calls nobody in a chat, whatever it says", () => {
    const made = alert("<!channel> @everyone & <http://evil|click>");
    expect(body({ ...web, to: "slack" }, made)).toEqual({
      text: "❌ *error: Agent A*\n&lt;!channel&gt; @everyone &amp; &lt;http://evil|click&gt;",
    });
    expect(body({ ...web, to: "discord" }, made)).toMatchObject({ allowed_mentions: { parse: [] } });
    const long = body({ ...web, to: "discord" }, alert("😀".repeat(5000), { more: 3 })) as { content: string };
    expect([...long.content].length).toBeLessThanOrEqual(2000);
  });

  it("goes to the server of an ntfy topic as JSON", () => {
    const made = request({ ...web, to: "ntfy", token: "tk_1" }, alert("Grüße", { severity: "critical", more: 2 }), 0);
    expect(made.url.href).toBe("https://example.com/base/");
    expect(made.headers).toEqual({ authorization: "Bearer tk_1" });
    expect(JSON.parse(made.body)).toEqual({
      topic: "topic",
      title: "error: Agent A",
      message: "Grüße\n(x 2 more)",
      priority: 5,
      tags: ["error"],
    });
  });

  it("is a separate argument of a notification, and no option of it", () => {
    const made = alert("--icon=x <b>$(reboot)</b>");
    expect(desktopCommand(made, "linux").slice(-3)).toEqual([
      "--",
      "error: Agent A",
      "--icon=x &lt;b&gt;$(reboot)&lt;/b&gt;",
    ]);
    expect(desktopCommand(made, "darwin").slice(-2)).toEqual(["error: Agent A", "--icon=x <b>$(reboot)</b>"]);
  });

  it("shows no secret and no control character, also where it is cut", () => {
    const key = `sk-ant-${"x1".repeat(40)}`;
    const made = alert(`${"a".repeat(1450)} \u001b[31mred\u0007 ${key} more`);
    expect(JSON.stringify(made)).not.toMatch(/x1x1|hunter2x|\\u001b|\\u0007/);
    expect([...made.text].length).toBeLessThanOrEqual(1500);
    const odd = makeEvent({ interaction: 0, actor: "a", type: "error", content: "", id: "a\r\nx: y" });
    expect(makeAlert(odd, []).id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("rings in one line", async () => {
    const told: string[] = [];
    const outside = {
      env: {},
      folder: "/",
      tell: (text: string) => void told.push(text),
      signal: new AbortController().signal,
    };
    expect(await send({ name: "bell", to: "bell" }, alert("two\nlines"), outside)).toEqual({ state: "delivered" });
    expect(told).toEqual(["\u0007error: error: Agent A: two lines"]);
  });
});

it("Retry-After is seconds or a date", () => {
  expect(
    ["7", "1.5", "Thu, 01 Jan 1970 00:01:00 GMT", "soon", undefined].map((text) => retryAfter(text, 20_000)),
  ).toEqual([7000, 1500, 40_000, undefined, undefined]);
});
