/**
 * Who may have how much of the server at once. Agents and people have places of their own, so that no number of agents keeps a person waiting; of the
 * agents' places no agent has more than its share.
 */
import type { AgentId } from "../../core/ids.ts";

/** Places for one agent, for all agents together, and for people. */
export interface Share {
  each: number;
  agents: number;
  people: number;
}

export class Shares {
  readonly #share: Share;
  readonly #each = new Map<AgentId, number>();
  #agents = 0;
  #people = 0;

  constructor(share: Share) {
    this.#share = share;
  }

  /** A place for an agent, or a person; the answer gives it back. Undefined when there is none left for this caller. */
  take(agent: AgentId | undefined): (() => void) | undefined {
    if (!this.#count(agent)) return undefined;
    let held = true;
    return () => {
      if (held) this.#leave(agent);
      held = false;
    };
  }

  #count(agent: AgentId | undefined): boolean {
    const { each, agents, people } = this.#share;
    if (agent === undefined) {
      if (this.#people >= people) return false;
      this.#people++;
      return true;
    }
    const own = this.#each.get(agent) ?? 0;
    if (own >= each || this.#agents >= agents) return false;
    this.#each.set(agent, own + 1);
    this.#agents++;
    return true;
  }

  #leave(agent: AgentId | undefined): void {
    if (agent === undefined) {
      this.#people--;
      return;
    }
    const own = (this.#each.get(agent) ?? 0) - 1;
    if (own > 0) this.#each.set(agent, own);
    else this.#each.delete(agent);
    this.#agents--;
  }
}
