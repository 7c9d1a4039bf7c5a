/** Every tool, in the order clients list them. At most 15: a model reads all of them before its first word. */
import type { Tool } from "./tool.ts";
import { createTask, deployAgent, killAgent, spawnChild } from "./tools-deploy.ts";
import { agentOutput, agentSummary, listAgents, searchLogs, taskStatus } from "./tools-look.ts";
import { getCommunication, logEvent, reportFinding, sendMessage, updateProgress } from "./tools-talk.ts";
import { waitForAgents } from "./tools-wait.ts";

export const TOOLS: readonly Tool[] = [
  createTask,
  deployAgent,
  spawnChild,
  taskStatus,
  listAgents,
  agentOutput,
  killAgent,
  updateProgress,
  reportFinding,
  agentSummary,
  waitForAgents,
  sendMessage,
  logEvent,
  getCommunication,
  searchLogs,
];
