/** Alerts of a workspace: its configuration, its journal, and what hides secrets in the text of its agents. */
import { join } from "node:path";
import { Alerts, type DeadLetter } from "../alert/alerts.ts";
import { type Alert, makeAlert } from "../alert/message.ts";
import { desktopProgram, type Outside, type Sent, send } from "../alert/send.ts";
import { type Route, readSettings, type Settings, TERMINAL_DEFAULT } from "../alert/settings.ts";
import { noteArrival, type RouteStatus, readState, statusOf } from "../alert/state.ts";
import { MidwatchError } from "../core/errors.ts";
import { isAgentId, quote } from "../core/ids.ts";
import { masker } from "../core/mask/mask.ts";
import { nearest } from "../core/nearest.ts";
import { fingerprint, secretFinder, secretValues } from "../core/secret-values.ts";
import { appendInside } from "../disk/write-inside.ts";
import { type JournalEvent, makeEvent } from "../journal/event.ts";
import { type HealthRecord, health } from "../journal/health.ts";
import { self } from "../process/identity.ts";
import { Maskers } from "../stream/maskers.ts";
import type { Context } from "../workspace/context.ts";
import { findCommand } from "../workspace/find-command.ts";

export interface AlertRoundsOptions {
  /** A person looks at what is told. */
  terminal: boolean;
  tell(text: string): void;
}

export interface AlertTest {
  route: string;
  delivered: boolean;
  took_ms: number;
  error: string | null;
}

/** Undefined when there is nobody to tell. Throws BAD_CONFIG for a configuration that cannot work. */
export function openAlerts(context: Context, options: AlertRoundsOptions): Alerts | undefined {
  const configured = settingsOf(context);
  const settings = configured === undefined && options.terminal ? TERMINAL_DEFAULT : configured;
  if (settings === undefined) return undefined;
  // Of this machine alone: the others tell of theirs.
  const { own: journal, engine: registers, layout } = context;
  return new Alerts({
    journal,
    registers,
    settings: usableHere(context, settings, options),
    make: alertMaker(context, settings),
    bury: (letter: DeadLetter) => appendInside(layout.root, layout.deadAlerts, [letter], { sync: true }),
    outside: outsideOf(context, options.tell),
    bootId: self().boot_id,
  });
}

/** What is wrong with `alerts` of the configuration is thrown; else what there is. */
export function checkAlerts(context: Context): { routes: number; problems: string[] } {
  const problems: string[] = [];
  const settings = settingsOf(context);
  if (settings !== undefined)
    usableHere(context, settings, { terminal: true, tell: (text) => void problems.push(text) });
  return { routes: settings?.routes.length ?? 0, problems };
}

/** One message at once, past the queue. */
export async function testAlert(
  context: Context,
  name: string,
  options: { terminal: boolean; tell(text: string): void; signal: AbortSignal },
): Promise<AlertTest> {
  const settings = settingsOf(context) ?? (options.terminal ? TERMINAL_DEFAULT : undefined);
  const route = findRoute(settings?.routes ?? [], name);
  const make = alertMaker(context, settings as Settings);
  const alert = make(
    makeEvent({
      interaction: 0,
      actor: "midwatch",
      type: "alert.test",
      content: `This is a test of the route ${name}.`,
    }),
  );
  const begun = performance.now();
  const unusable = whyNot(context, route, options.terminal);
  const sent: Sent =
    unusable === undefined
      ? await send(route, alert, { ...outsideOf(context, options.tell), signal: options.signal })
      : { state: "never", error: unusable };
  const delivered = sent.state === "delivered";
  if (delivered) await noteArrival(context.engine, name);
  const error = sent.state === "delivered" ? null : sent.error;
  return { route: name, delivered, took_ms: Math.round(performance.now() - begun), error };
}

export async function alertStatus(context: Context): Promise<RouteStatus[]> {
  const { state } = await readState(context.engine);
  const settings = settingsOf(context);
  const kept = Object.keys(state?.routes ?? {});
  const routes = settings?.routes ?? TERMINAL_DEFAULT.routes.filter(({ name }) => kept.includes(name));
  return routes.map((route) => statusOf(route, state?.routes[route.name]));
}

/** With the routes on which alerts do not arrive. */
export async function healthOf(context: Context): Promise<HealthRecord & { alerts: AlertHealth }> {
  const record = await health(context.engine, context.layout, context.config);
  const { state } = await readState(context.engine);
  // By name only: that the configuration is wrong is for those to say who use it.
  const configured = (context.alerts as { routes?: object } | undefined)?.routes ?? {};
  const routes = Object.entries(state?.routes ?? {}).filter(([name]) => Object.hasOwn(configured, name));
  const failing = routes.filter(([, { off, failing }]) => off !== null || failing !== null).map(([name]) => name);
  const waiting = routes.reduce((sum, [, { queue }]) => sum + queue.waiting.length, 0);
  const dead = routes.reduce((sum, [, { dead }]) => sum + dead, 0);
  const worse = record.state === "ok" && failing.length > 0 ? "warning" : record.state;
  return { ...record, state: worse, alerts: { routes: routes.length, failing, waiting, dead } };
}

export interface AlertHealth {
  routes: number;
  failing: string[];
  waiting: number;
  dead: number;
}

function settingsOf({ alerts, env, layout }: Context): Settings | undefined {
  return alerts === undefined ? undefined : readSettings(alerts, { env, folder: join(layout.root, "..") });
}

/** An agent's run knows its secrets, this process its own, and the configuration those of the routes. */
function alertMaker(context: Context, { secrets }: Settings): (event: JournalEvent) => Alert {
  const own = masker(secretFinder(fingerprint([...secrets, ...secretValues(context.env)])));
  const maskers = new Maskers(context);
  return (event) => {
    const { agent, data } = event;
    if (!isAgentId(agent)) return makeAlert(event, [own]);
    // It may be of an earlier run, which had secrets of its own.
    const run = (data as { run?: unknown } | null | undefined)?.run;
    const earlier = Number.isSafeInteger(run) ? [maskers.of(agent, run as number)] : [];
    return makeAlert(event, [own, maskers.ofAgent(agent), ...earlier]);
  };
}

/** Routes that cannot work here are left out and told of; a command that is not there is a fault of the configuration. */
function usableHere(context: Context, settings: Settings, { terminal, tell }: AlertRoundsOptions): Settings {
  const routes = settings.routes.filter((route) => {
    const why = whyNot(context, route, terminal);
    if (why === undefined) return true;
    if (route.to === "command")
      throw new MidwatchError("BAD_CONFIG", `The route ${route.name} cannot work: ${why}.`, {
        hint: "Check the spelling of its argv, or give the full path.",
      });
    tell(`The route ${route.name} is not used: ${why}.`);
    return false;
  });
  const names = new Set(routes.map(({ name }) => name));
  const rules = settings.rules.map((rule) => ({ ...rule, routes: rule.routes.filter((name) => names.has(name)) }));
  return { ...settings, routes, rules };
}

function whyNot({ env, layout }: Context, route: Route, terminal: boolean): string | undefined {
  if (route.to === "bell") return terminal ? undefined : "there is no terminal";
  if (route.to !== "command" && route.to !== "desktop") return undefined;
  const program = route.to === "desktop" ? desktopProgram() : route.argv[0];
  const place = program.includes("/") ? join(layout.root, "..", program) : program;
  const found = findCommand(program.startsWith("/") ? program : place, env["PATH"] ?? "");
  return found === undefined ? `the command ${quote(program)} was not found` : undefined;
}

function findRoute(routes: readonly Route[], name: string): Route {
  const route = routes.find((one) => one.name === name);
  if (route !== undefined) return route;
  const names = routes.map((one) => one.name);
  const near = nearest(name, names);
  const choices = names.length === 0 ? "There are none: docs/alerts.md." : `There are: ${names.join(", ")}.`;
  throw new MidwatchError("NOT_FOUND_ALERT_ROUTE", `There is no route ${quote(name)} in midwatch.config.json.`, {
    hint: near === undefined ? choices : `Did you mean ${near}? ${choices}`,
  });
}

function outsideOf({ env, layout }: Context, tell: (text: string) => void): Omit<Outside, "signal"> {
  return { env, folder: join(layout.root, ".."), tell };
}
