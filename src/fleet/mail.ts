/** What is said to an agent and by it: messages with their stages (`inbox`), progress and findings (`report`), events of the journal (`journal`). */
import type { AgentId, TaskId } from "../core/ids.ts";
import { isTerminal } from "../core/phase.ts";
import type { Message } from "../core/types.ts";
import { locate, resolveId } from "../facts/locate.ts";
import { closeInput, messagesOf, sendMessage } from "../messages/inbox.ts";
import {
  type FindingReport,
  type Peers,
  type ProgressReport,
  type Reports,
  recentReports,
  reportFinding,
  reportProgress,
} from "../messages/report.ts";
import { reconcile } from "../run/reconcile.ts";
import { delivered, type WaitOptions } from "../run/wait.ts";
import { Streams } from "../stream/streams.ts";
import { anyNeeds } from "../up/watch-place.ts";
import { awaitWatcher } from "../workspace/companion.ts";
import { findDriver } from "../workspace/find-driver.ts";
import { HoldsContext } from "./holds-context.ts";

export class Mail extends HoldsContext {
  #ending: Promise<void> = Promise.resolve();

  /** A message for an agent, accepted when this returns; `delivered` waits for what becomes of it. */
  async send(id: string | undefined, text: string): Promise<Message> {
    const agent = resolveId(this.acting, id);
    await reconcile(this.context, { of: [agent] });
    const { driver } = locate(this.context, agent).listed.agent;
    return sendMessage(this.context, agent, text, await findDriver(this.context, driver));
  }

  /** Until the message is consumed or has failed, no run can take it up any more, or the time is up. */
  delivered(message: Message, options: Omit<WaitOptions, "any"> = {}): Promise<Message> {
    return delivered(this.context, message, options);
  }

  /** What was sent to an agent, and what became of each. */
  async list(id?: string): Promise<Message[]> {
    return await messagesOf(this.context, resolveId(this.context, id), new Streams(this.context));
  }

  /** An interactive agent reads what was sent so far, and then the end of its input. */
  async close(id: string | undefined): Promise<AgentId> {
    const agent = resolveId(this.acting, id);
    await reconcile(this.context, { of: [agent] });
    closeInput(this.context, agent);
    return agent;
  }

  /** What the agent does now, in its own words; answers with what its peers said lately. */
  progress(id: string | undefined, status: string, message: string, percent?: number): ProgressReport & Peers {
    const agent = resolveId(this.context, id);
    const report = reportProgress(this.acting, agent, status, message, percent ?? null);
    // Best effort: the report counts, and whoever watches next finds it.
    if (isTerminal(report.status)) this.#ending = this.#seeToEnd(agent).catch(() => undefined);
    return report;
  }

  /** Until somebody watches who ends an agent that has reported that it is done, if it lives on. */
  watched(): Promise<void> {
    return this.#ending;
  }

  async #seeToEnd(agent: AgentId): Promise<void> {
    const observed = await reconcile(this.context, { of: [agent] });
    if (anyNeeds(this.context, observed)) await awaitWatcher(this.context);
  }

  /** What the agent found; answers with what its peers said lately. */
  finding(
    id: string | undefined,
    type: string,
    severity: FindingReport["severity"],
    message: string,
    data?: unknown,
  ): FindingReport & Peers {
    return reportFinding(this.acting, resolveId(this.context, id), type, severity, message, data);
  }

  /** What the agents of a task reported lately, newest first. */
  reports(task: TaskId, most: number): Reports {
    return recentReports(this.context, task, most);
  }
}
