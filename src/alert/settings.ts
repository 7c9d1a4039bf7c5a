/**
 * `alerts` of midwatch.config.json: routes by name, and rules that lead to them. Checked whole before anything is sent. Secrets come
 * from the environment or a file, never from the configuration itself, and no message of an error shows one.
 */
import { resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";
import { type Fields, isFields } from "../core/json.ts";
import { didYouMean, nearest } from "../core/nearest.ts";
import { readText } from "../disk/replace.ts";
import { isPrivateHost } from "./address.ts";
import { OUTCOMES, type Rule, SEVERITIES, type Severity, VERDICTS } from "./rules.ts";
import { keyOfSecret } from "./sign.ts";

interface Web {
  name: string;
  url: URL;
  /** Addresses of private networks and of this machine are allowed, and plain http. */
  private: boolean;
}

export type WebRoute =
  | (Web & { to: "webhook"; key: Buffer })
  | (Web & { to: "slack" | "discord" })
  | (Web & { to: "ntfy"; token: string | undefined });

export type Route =
  | WebRoute
  | { name: string; to: "bell" }
  | { name: string; to: "desktop" }
  | { name: string; to: "command"; argv: readonly [string, ...string[]] };

export interface Settings {
  routes: readonly Route[];
  rules: readonly Rule[];
  /** To be hidden wherever text leaves. */
  secrets: readonly string[];
}

/** Where values are taken from. */
export interface Sources {
  env: Readonly<Record<string, string | undefined>>;
  /** Relative names of files begin here. */
  folder: string;
}

const FIELDS = {
  webhook: ["to", "url", "secret", "private"],
  slack: ["to", "url", "private"],
  discord: ["to", "url", "private"],
  ntfy: ["to", "url", "token", "private"],
  bell: ["to"],
  desktop: ["to"],
  command: ["to", "argv"],
} as const satisfies Record<Route["to"], readonly string[]>;
const KINDS = Object.keys(FIELDS) as Route["to"][];
const RULE_FIELDS = ["type", "severity", "verdict", "outcome", "routes"] as const;
/** It becomes a name in files and messages. */
const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;
const TYPE = /^(\*|[a-z][a-z0-9_.-]{0,63}\*?)$/;

/** On a terminal and without a word in the configuration: the bell, when an agent has ended or something went wrong. */
export const TERMINAL_DEFAULT: Settings = {
  routes: [{ name: "bell", to: "bell" }],
  rules: [
    { type: ["agent.ended", "budget.*"], routes: ["bell"] },
    { severity: "error", routes: ["bell"] },
  ],
  secrets: [],
};

/** Throws BAD_CONFIG with the nearest known name. */
export function readSettings(configured: unknown, sources: Sources): Settings {
  const top = object("alerts", configured);
  known("alerts", top, ["routes", "rules"]);
  const secrets: string[] = [];
  const routes = Object.entries(object("alerts.routes", top["routes"] ?? {})).map(([name, given]) => {
    if (!NAME.test(name)) {
      bad(`${quote(name)} cannot be the name of a route.`, "Use up to 32 of a-z, 0-9, _ and -.");
    }
    return readRoute(name, object(`The route ${name}`, given), sources, secrets);
  });
  const names = routes.map(({ name }) => name);
  if (top["rules"] === undefined)
    return {
      routes,
      rules: [
        { severity: "error", routes: names },
        { type: ["budget.*"], routes: names },
      ],
      secrets,
    };
  if (!Array.isArray(top["rules"])) bad("alerts.rules is not a list.", EXAMPLE);
  const rules = top["rules"].map((given, i) => readRule(`Rule ${i + 1} of alerts`, given, names));
  return { routes, rules, secrets };
}
const EXAMPLE = 'Write it as {"alerts": {"routes": {"ops": {...}}, "rules": [{"type": "error", "routes": ["ops"]}]}}.';

function readRoute(name: string, given: Fields, sources: Sources, secrets: string[]): Route {
  const what = `The route ${name}`;
  const to = oneOf(`\`to\` of the route ${name}`, given["to"], KINDS);
  known(what, given, FIELDS[to]);
  if (to === "bell" || to === "desktop") return { name, to };
  if (to === "command") {
    const argv = given["argv"];
    const words = Array.isArray(argv) && argv.length > 0 && argv.every((word) => typeof word === "string" && word);
    if (!words)
      bad(`\`argv\` of the route ${name} is not a list of words.`, 'Write it as ["mail-alert", "--to", "me"].');
    return { name, to, argv: argv as [string, ...string[]] };
  }
  const allowed = given["private"] ?? false;
  if (typeof allowed !== "boolean") bad(`\`private\` of the route ${name} is not true or false.`, DOCS);
  const value = (field: string, open: boolean): string | undefined =>
    readValue(name, field, given[field], sources, secrets, open);
  // The address of a chat's webhook is all that it takes to write there.
  const address = value("url", to === "webhook" || to === "ntfy");
  if (address === undefined) bad(`${what} has no url.`, VALUE_HINT);
  const web: Web = { name, url: readUrl(name, address, allowed), private: allowed };
  if (to === "ntfy") {
    if (web.url.pathname.length < 2) bad(`The url of the route ${name} names no topic.`, "https://ntfy.sh/TOPIC");
    return { ...web, to, token: value("token", false) };
  }
  if (to !== "webhook") return { ...web, to };
  const secret = value("secret", false);
  const key = secret === undefined ? undefined : keyOfSecret(secret);
  if (key === undefined) {
    bad(
      `${what} has no ${secret === undefined ? "" : "usable "}secret, by which its receiver knows our messages.`,
      `A secret is whsec_ and 24 to 64 bytes in base64: \`echo whsec_$(openssl rand -base64 32)\`. ${VALUE_HINT}`,
    );
  }
  return { ...web, to, key };
}
const DOCS = "See docs/alerts.md.";
const VALUE_HINT = 'Take it from a variable, {"env": "NAME"}, or a file, {"file": "PATH"}.';

/** A text as it is (where it may be known), or from a variable or a file. */
function readValue(
  route: string,
  field: string,
  given: unknown,
  { env, folder }: Sources,
  secrets: string[],
  open: boolean,
): string | undefined {
  const what = `\`${field}\` of the route ${route}`;
  if (given === undefined) return undefined;
  if (typeof given === "string") {
    if (!open) bad(`${what} is a secret and must not stand in the configuration.`, VALUE_HINT);
    return given;
  }
  const { env: variable, file, ...more } = object(what, given);
  known(what, more, ["env", "file"]);
  let found: string | undefined;
  if (typeof variable === "string" && file === undefined) {
    found = env[variable]?.trim();
    if (!found) {
      const near = nearest(variable, Object.keys(env));
      bad(
        `${what} is to come from the variable ${quote(variable)}, which is not set.`,
        near === undefined || near === variable ? "Set it where `midwatch up` is started." : `Did you mean ${near}?`,
      );
    }
  } else if (typeof file === "string" && variable === undefined) {
    found = readText(resolve(folder, file))?.trim();
    if (!found)
      bad(`${what} is to come from the file ${quote(file)}, which is empty or cannot be read.`, "Write it there.");
  } else bad(`${what} names neither a variable nor a file.`, VALUE_HINT);
  secrets.push(found);
  return found;
}

function readUrl(route: string, text: string, allowed: boolean): URL {
  const what = `The url of the route ${route}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["https:", "http:"].includes(url.protocol))
    bad(`${what} is not an address.`, "It looks like https://example.com/hook.");
  const { protocol, username, password, hostname } = url;
  if (protocol === "http:" && !allowed)
    bad(`${what} begins with http:, so anybody on the way could read along.`, PRIVATE_HINT);
  if (username !== "" || password !== "")
    bad(`${what} holds a user or password.`, "Leave them out; a webhook is signed, and ntfy has `token`.");
  if (!allowed && isPrivateHost(hostname)) bad(`${what} leads to this machine or a private network.`, PRIVATE_HINT);
  return url;
}
const PRIVATE_HINT = 'Write "private": true into the route when that is meant.';

function readRule(what: string, value: unknown, names: readonly string[]): Rule {
  const given = object(what, value);
  known(what, given, RULE_FIELDS);
  const list = (field: string): string[] | undefined => {
    const found = given[field];
    if (found === undefined) return undefined;
    const all = [found].flat();
    if (all.length === 0 || !all.every((one) => typeof one === "string"))
      bad(`\`${field}\` of ${lower(what)} is not a word or a list of words.`, DOCS);
    return all as string[];
  };
  const words = <T extends string>(field: string, of: readonly T[]): T[] | undefined =>
    list(field)?.map((word) => oneOf(`\`${field}\` of ${lower(what)}`, word, of));
  const type = list("type");
  for (const one of type ?? [])
    if (!TYPE.test(one))
      bad(`\`type\` of ${lower(what)}: ${quote(one)} is no type of events.`, "error, agent.ended, verdict.*");
  const routes = words("routes", names);
  if (routes === undefined) bad(`${what} names no routes.`, `There are: ${names.join(", ") || "none"}.`);
  const severity = given["severity"];
  const verdict = words("verdict", VERDICTS);
  const outcome = words("outcome", OUTCOMES);
  return {
    ...(type && { type }),
    ...(severity !== undefined && {
      severity: oneOf<Severity>(`\`severity\` of ${lower(what)}`, severity, SEVERITIES),
    }),
    ...(verdict && { verdict }),
    ...(outcome && { outcome }),
    routes,
  };
}

function object(what: string, value: unknown): Fields {
  return isFields(value) ? value : bad(`${what} is not an object.`, EXAMPLE);
}

function known(what: string, fields: Fields, names: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => !names.includes(name));
  if (unknown === undefined) return;
  const hint = didYouMean(unknown, names, `There are: ${names.join(", ")}.`);
  bad(`${quote(unknown)} of ${lower(what)} is not known.`, hint);
}

function oneOf<T extends string>(what: string, value: unknown, names: readonly T[]): T {
  if ((names as readonly unknown[]).includes(value)) return value as T;
  const near = typeof value === "string" ? nearest(value, names) : undefined;
  const choices = `There are: ${names.join(", ") || "none"}.`;
  return bad(
    value === undefined ? `${what} is missing.` : `${what}: ${quote(value)} is not known.`,
    near === undefined ? choices : `Did you mean ${near}? ${choices}`,
  );
}

function lower(what: string): string {
  return what.replace(/^(The|Rule)/, (word) => word.toLowerCase());
}

function bad(message: string, hint: string): never {
  throw new MidwatchError("BAD_CONFIG", `${message[0]?.toUpperCase()}${message.slice(1)}`, { hint });
}
