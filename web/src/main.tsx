/** The page: what is always there, and the view of the address. */
import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { render } from "preact";
import { AgentPage } from "./agent/page.tsx";
import { Cost } from "./cost/page.tsx";
import { shortName, watchFleet } from "./fleet.ts";
import { clock } from "./format.ts";
import { Health } from "./health.tsx";
import { HelpSheet } from "./help.tsx";
import { Home } from "./home/home.tsx";
import { needs } from "./home/structure.ts";
import { Journal } from "./journal.tsx";
import { helpOpen, listenToKeys, startOpen } from "./keys.ts";
import { connect, connection, retryAt } from "./live.ts";
import { Button, Command, Empty } from "./parts/bits.tsx";
import { Icon, type IconName, Logo } from "./parts/icon.tsx";
import { type Route, route } from "./route.ts";
import { beginSession, signedOut, usedLink } from "./session.ts";
import { StartDialog } from "./start.tsx";
import { ActDialog } from "./stop.tsx";
import { watchSummaries } from "./summaries.ts";
import { nextTheme, theme, watchTheme } from "./theme.ts";
import "./style/base.css";
import "./style/frame.css";
import "./style/home.css";
import "./style/agent.css";
import "./style/log.css";
import "./style/pages.css";

const PLACES: readonly { view: Route["view"]; link: string; text: string; icon: IconName }[] = [
  { view: "home", link: "#/", text: "Watch", icon: "watch" },
  { view: "journal", link: "#/journal", text: "Journal", icon: "journal" },
  { view: "health", link: "#/health", text: "Health", icon: "health" },
  { view: "cost", link: "#/cost", text: "Cost", icon: "cost" },
];

function App(): JSX.Element {
  if (signedOut.value) return <SignedOut />;
  const { view } = route.value;
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to the content
      </button>
      <Rail view={view} />
      <Lost />
      <main id="main" class={view} tabIndex={-1}>
        <View />
      </main>
      {startOpen.value && <StartDialog />}
      {helpOpen.value && <HelpSheet />}
      <ActDialog />
    </>
  );
}

function View(): JSX.Element {
  const now = route.value;
  switch (now.view) {
    case "home":
      return <Home />;
    case "agent":
      return <AgentPage route={now} />;
    case "journal":
      return <Journal />;
    case "health":
      return <Health />;
    case "cost":
      return <Cost />;
  }
}

const THEMES = { auto: "auto", light: "sun", dark: "moon" } as const;

function Rail({ view }: { view: Route["view"] }): JSX.Element {
  return (
    <header class="rail">
      <a class="brand" href="#/">
        <Logo />
        <span>midwatch</span>
      </a>
      <Button kind="primary" icon="plus" onClick={() => (startOpen.value = true)}>
        Start an agent
      </Button>
      <nav aria-label="Places">
        {PLACES.map(({ view: of, link, text, icon }) => (
          <a
            key={of}
            href={link}
            aria-current={view === of || (view === "agent" && of === "home") ? "page" : undefined}
          >
            <Icon name={icon} />
            <span>{text}</span>
            {of === "home" && needs.value.length > 0 && <b class="badge">{needs.value.length}</b>}
          </a>
        ))}
      </nav>
      <div class="rail-foot">
        <Button icon="keys" label="Keys (?)" onClick={() => (helpOpen.value = true)} />
        <Button icon={THEMES[theme.value]} label={`Colours: ${theme.value}`} onClick={nextTheme} />
        <span class={`link ${connection.value}`} role="status">
          {connection.value === "open" ? "live" : connection.value === "lost" ? "offline" : "…"}
        </span>
      </div>
    </header>
  );
}

function Lost(): JSX.Element | null {
  if (connection.value !== "lost") return null;
  const seconds = Math.max(0, Math.ceil((retryAt.value - clock.value) / 1000));
  return (
    <div class="lost" role="alert">
      <Icon name="warn" />
      <span>
        <b>The server does not answer.</b> Agents and their logs go on without it. Trying again
        {seconds > 0 ? ` in ${seconds} s` : ""} …
      </span>
      <Button onClick={connect}>Now</Button>
    </div>
  );
}

function SignedOut(): JSX.Element {
  return (
    <main class="signed-out">
      <Empty title={usedLink.value ? "This link was used already, or is too old" : "You are signed out"}>
        <p>This page is opened by a link that is good for one use. Make a new one in a terminal:</p>
        <Command text="midwatch up --link" />
      </Empty>
    </main>
  );
}

function title(): string {
  const { view, agent } = route.value;
  const place = view === "agent" ? shortName(agent) : (PLACES.find((one) => one.view === view)?.text ?? "");
  return `${needs.value.length > 0 ? `(${needs.value.length}) ` : ""}${place} · midwatch`;
}

beginSession();
watchTheme();
listenToKeys();
watchFleet();
watchSummaries();
connect();
const place = document.getElementById("app");
if (place) render(<App />, place);
effect(() => {
  document.title = title();
});
