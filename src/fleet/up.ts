/**
 * What `midwatch up` keeps going while it leads: the rounds of `house` (reconcile, limits, queue, watch, snapshots, alerts, sync, fleet). It
 * holds no truth: killed, it is followed by whoever leads next.
 */
import { dirname } from "node:path";
import type { HealthRecord } from "../journal/health.ts";
import type { Question } from "../nats/ask.ts";
import type { HubSettings } from "../nats/hub.ts";
import type { SyncStatus } from "../sync/state.ts";
import { type AlertHealth, healthOf } from "../up/alerts.ts";
import { answerFleet } from "../up/answer.ts";
import { type HouseOptions, type HouseRecord, keepHouse } from "../up/house.ts";
import { hostName, hubSettings, type JoinCall } from "../up/join.ts";
import { type LeadOptions, type LeadRecord, lead } from "../up/lead.ts";
import { Loop } from "../up/loop.ts";
import { Metrics } from "../up/metrics.ts";
import { rosterFiles } from "../up/roster-files.ts";
import { withSync } from "../up/sync.ts";
import { HoldsContext } from "./holds-context.ts";

export class Up extends HoldsContext {
  #metrics: Metrics | undefined;

  /** What `midwatch up` does: rounds while it leads, standing by while another does. */
  keep(options: HouseOptions): AsyncGenerator<HouseRecord> {
    return keepHouse(this.acting, options);
  }

  /** Leads, once nobody else does, until it is told to end: a lease, a term and heartbeats, no rounds and no rights. */
  lead(options: LeadOptions): AsyncGenerator<LeadRecord> {
    return lead(this.acting, options);
  }

  /** One round of `midwatch up`. */
  loop(): Loop {
    return new Loop(this.acting);
  }

  /** Figures in the text format of Prometheus; a second look reads only what is new in the journal. */
  metrics(): Promise<string> {
    this.#metrics ??= new Metrics(this.context);
    return this.#metrics.text();
  }

  /** What this workspace is called in its fleet. */
  hostName(): string {
    return hostName(this.context);
  }

  /** The hub of its fleet, and the rosters of its keys. */
  fleetSettings(): { settings: HubSettings; rosters: ReturnType<typeof rosterFiles> } {
    const { config, layout, trust } = this.context;
    const folder = dirname(layout.root);
    return {
      settings: hubSettings(config, folder, hostName(this.context)),
      rosters: rosterFiles(config, folder, trust.state),
    };
  }

  /** Answers what other hosts of the fleet ask of this one, until the signal. */
  answerFleet(call: JoinCall, handle: (question: Question) => Promise<unknown>): Promise<void> {
    return answerFleet(this.acting, call, handle);
  }

  /** Who is alive, who leads, what failed lately, how sync and alerts fare. */
  async health(): Promise<HealthRecord & { sync: SyncStatus | null; alerts: AlertHealth }> {
    return await withSync(this.context, await healthOf(this.context));
  }
}
