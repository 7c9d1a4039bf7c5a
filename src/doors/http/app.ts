/** The HTTP door: checks who asks, then the operations, the stream, the page. Reads as the way of a request. */

import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { MidwatchError, toMidwatchError } from "../../core/errors.ts";
import { maskText } from "../../core/mask/mask.ts";
import { usage } from "../../operations/operation.ts";
import { bodyOf, call, findOperation, fromQuery, isLong } from "./api.ts";
import type { Who } from "./auth.ts";
import type { Door } from "./door.ts";
import { openapi } from "./openapi.ts";
import { Shares } from "./shares.ts";
import { packed } from "./static.ts";

const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const NO_PAGE = "default-src 'none'; frame-ancestors 'none'";

type Bindings = { Bindings: HttpBindings; Variables: { who: Who; leave: () => void } };

export function httpDoor(door: Door): Hono<Bindings> {
  const app = new Hono<Bindings>();
  const { perCaller } = door.limits;
  const shares = {
    requests: new Shares(perCaller.requests),
    follows: new Shares(perCaller.follows),
    mcp: new Shares(perCaller.mcp),
  };
  /** A place until the answer has left, or its reader. */
  const take = (kind: keyof typeof shares) => async (c: Context<Bindings>, next: () => Promise<void>) => {
    enter(c, kind);
    await next();
  };
  const enter = (c: Context<Bindings>, kind: keyof typeof shares): void => {
    const leave = shares[kind].take(c.get("who").agent);
    if (leave === undefined) throw busy();
    c.get("leave")?.();
    c.set("leave", leave);
    // Who has gone while its body was read is not told of again.
    if (c.env.outgoing.destroyed) leave();
    else c.env.outgoing.once("close", leave);
  };

  app.use(async (c, next) => {
    c.header("X-Content-Type-Options", "nosniff");
    c.header("Referrer-Policy", "no-referrer");
    c.header("Cross-Origin-Resource-Policy", "same-origin");
    c.header("Content-Security-Policy", NO_PAGE);
    c.header("Cache-Control", "no-store");
    door.connections.heard(c.env.incoming.socket);
    if (!door.auth.isForUs((name) => c.req.header(name)))
      throw new MidwatchError("REFUSED_ORIGIN", "This request was not sent to this server, or not by its page.", {
        hint: `Use ${door.publicUrl ?? door.url}.`,
      });
    await next();
  });

  app.get("/healthz", (c) => c.json({ ok: true }));

  // Before anybody says something secret to a server that a file named.
  app.get("/proof/:nonce{[0-9a-f]{64}}", (c) => c.text(door.auth.proof(door.url, c.req.param("nonce"))));

  app.get("/login/:code", (c) => {
    // What looks at links before a person opens them must not spend them.
    if (c.req.method === "HEAD") return c.body(null);
    const page = door.assets.get("/index.html");
    if (page === undefined) return c.text(NOT_BUILT, 404);
    const session = door.auth.spend(c.req.param("code"));
    // The page of a browser that has a session goes on with it; else it says what to do.
    const shown = c.req.header("accept")?.includes("text/html");
    if (session === undefined && !shown) return c.text(SPENT, 403);
    c.header("Content-Security-Policy", PAGE_POLICY);
    const html = new TextDecoder().decode(page.body);
    if (session === undefined) return c.html(html, 403);
    return c.html(html.replace("<head>", `<head><meta name="midwatch-session" content="${session}">`));
  });

  // The page itself holds nothing: what it shows it has to ask for.
  app.get("*", async (c, next) => {
    const path = c.req.path === "/" ? "/index.html" : c.req.path;
    const asset = door.assets.get(path);
    if (asset === undefined) return c.req.path === "/" ? c.text(NOT_BUILT, 404) : await next();
    c.header("Content-Type", asset.type);
    c.header("Content-Security-Policy", PAGE_POLICY);
    if (asset.hashed) c.header("Cache-Control", "public, max-age=31536000, immutable");
    const { body, encoding } = await packed(asset, c.req.header("accept-encoding") ?? "");
    c.header("Vary", "Accept-Encoding");
    if (encoding !== undefined) c.header("Content-Encoding", encoding);
    return c.body(body);
  });

  app.use(async (c, next) => {
    const who = door.auth.who((name) => c.req.header(name));
    if (who === undefined)
      throw new MidwatchError("NO_TOKEN", "This needs a token, an agent's capability, or a login.", {
        hint: "Send `Authorization: Bearer TOKEN` (.agent-workspace/http-token), or open the link of `midwatch up --link`.",
      });
    if (!door.connections.own(c.env.incoming.socket, who.agent)) throw busy();
    c.set("who", who);
    await next();
  });

  app.use("/api/*", take("requests"));
  app.use("/metrics", take("requests"));
  app.use("/mcp", take("mcp"));

  app.post("/login", (c) => {
    const who = c.get("who");
    if (who.via !== "bearer" || who.agent !== undefined)
      throw new MidwatchError("REFUSED_RIGHT", "Only the token makes links.", { hint: "midwatch up --link" });
    return c.json({ link: loginLink(door) });
  });

  app.all("/mcp", limitBody(door.limits.bodyBytes), async (c) => {
    const who = c.get("who");
    if (who.via !== "bearer")
      throw new MidwatchError("REFUSED_RIGHT", "MCP is for programs: a browser's login does not open it.", {
        hint: "Send `Authorization: Bearer TOKEN`.",
      });
    return await door.mcp.fetch(c.req.raw, who.agent ?? "");
  });

  app.get("/api/openapi.json", (c) => c.json(openapi(door.url)));

  app.get("/metrics", async (c) => c.text(await door.workspace.up.metrics(), 200, PROMETHEUS));

  app.get("/api/ls", async (c, next) => {
    if (c.req.url.includes("?")) return await next();
    return c.body(await door.fleet.listed(), 200, JSON_TYPE);
  });

  app.get("/api/*", async (c) => {
    const operation = findOperation(c.req.path.slice("/api/".length));
    if (operation.changes)
      throw usage(
        `${operation.name} changes something: ask for it by POST.`,
        `POST /api/${operation.name.replaceAll(" ", "/")}`,
      );
    const input = fromQuery(operation, new URL(c.req.url).searchParams);
    if (isLong(operation, input)) enter(c, "follows");
    return c.body(await call(door, c.get("who"), operation, input, c.req.raw.signal), 200, JSON_TYPE);
  });

  app.post("/api/*", limitBody(door.limits.bodyBytes), async (c) => {
    const operation = findOperation(c.req.path.slice("/api/".length));
    const input = await bodyOf(c.req);
    if (isLong(operation, input)) enter(c, "follows");
    return c.body(await call(door, c.get("who"), operation, input, c.req.raw.signal), 200, JSON_TYPE);
  });

  app.notFound((c) => {
    const error = new MidwatchError("NOT_FOUND_ROUTE", "There is nothing here.", { hint: "GET /api/openapi.json" });
    return c.json({ error }, 404);
  });

  app.onError((thrown, c) => {
    const error = toMidwatchError(thrown);
    // No `Connection: close` on a body that is too long: closed with unread bytes, the client would see a reset and not the answer. What
    // still comes is read and dropped for a moment, then the connection is closed.
    return c.body(maskText(JSON.stringify({ error })), error.httpStatus as ContentfulStatusCode, JSON_TYPE);
  });
  return app;
}

/** Opens the page; good once. */
export function loginLink({ url, publicUrl, auth }: Door): string {
  return `${publicUrl ?? url}/login/${auth.newCode()}`;
}

function busy(): MidwatchError {
  return new MidwatchError("BUSY", "You ask for too much at once.", { hint: "Try again in a moment." });
}

function limitBody(maxSize: number) {
  return bodyLimit({
    maxSize,
    onError: () => {
      throw new MidwatchError("TOO_LARGE", `The body is longer than ${maxSize} bytes.`, {
        hint: "Put long text into a file and name the file.",
      });
    },
  });
}

const PROMETHEUS = { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" };
const JSON_TYPE = { "Content-Type": "application/json" };
const SPENT = "This link was used already, or is too old.\n\nRun `midwatch up --link` for a new one.\n";
const NOT_BUILT = "The server is running, but the page was not built. `node scripts/build.mjs` builds it.\n";
