/** Fixtures for what midwatch itself does not offer (prompts, logging, questions to the client), to exercise sessions and streams. */
import { setTimeout as sleep } from "node:timers/promises";
import { completable, fromJsonSchema, inputRequired, type McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";

const text = (words: string) => ({ type: "text" as const, text: words });
const said = (...content: ReturnType<typeof text>[]) => ({ content });
const from = (content: ReturnType<typeof text>) => ({ role: "user" as const, content });

export function addPrompts(server: McpServer, image: { type: "image"; data: string; mimeType: string }): void {
  server.registerPrompt("test_simple_prompt", { description: "A prompt" }, () => ({
    messages: [from(text("This is a simple prompt for testing."))],
  }));
  const both = z.object({ arg1: completable(z.string(), () => ["paris", "park"]), arg2: z.string() });
  server.registerPrompt("test_prompt_with_arguments", { description: "A prompt", argsSchema: both }, (args) => ({
    messages: [from(text(`Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`))],
  }));
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A prompt", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) => {
      const resource = { uri, mimeType: "text/plain", text: "Embedded resource content for testing." };
      return {
        messages: [
          { role: "user", content: { type: "resource", resource } },
          from(text("Please process the embedded resource above.")),
        ],
      };
    },
  );
  server.registerPrompt("test_prompt_with_image", { description: "A prompt" }, () => ({
    messages: [{ role: "user", content: image }, from(text("Please analyze the image above."))],
  }));
}

export function addAsking(server: McpServer): void {
  const logs = async ({ mcpReq }: { mcpReq: { log(level: "info", words: string): Promise<void> } }) => {
    for (const words of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", words);
      await sleep(50);
    }
    return said(text("logged"));
  };
  server.registerTool("test_tool_with_logging", { description: "Logs" }, logs);
  server.registerTool("test_logging_tool", { description: "Logs" }, logs);
  server.registerTool(
    "test_sampling",
    { description: "Asks the client's model", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [from(text(prompt))];
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
      return said(text(`LLM response: ${JSON.stringify(content)}`));
    },
  );
  const word = { type: "string" as const };
  const asked: Record<string, Record<string, object>> = {
    test_elicitation: {
      username: { ...word, description: "User's response" },
      email: { ...word, description: "Address" },
    },
    test_elicitation_sep1034_defaults: {
      name: { ...word, default: "John Doe" },
      age: { type: "integer", default: 30 },
      score: { type: "number", default: 95.5 },
      status: { ...word, enum: ["active", "inactive", "pending"], default: "active" },
      verified: { type: "boolean", default: true },
    },
    test_elicitation_sep1330_enums: {
      untitledSingle: { ...word, enum: ["option1", "option2", "option3"] },
      titledSingle: { ...word, oneOf: titled("Option") },
      legacyEnum: { ...word, enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
      untitledMulti: { type: "array", items: { ...word, enum: ["option1", "option2", "option3"] } },
      titledMulti: { type: "array", items: { anyOf: titled("Choice") } },
    },
  };
  for (const [name, properties] of Object.entries(asked))
    server.registerTool(
      name,
      { description: "Asks the user", inputSchema: z.object({ message: z.string().default("Please tell") }) },
      async ({ message }, { mcpReq }) => {
        const required = name === "test_elicitation" ? Object.keys(properties) : [];
        const requestedSchema = { type: "object" as const, properties, required } as never;
        const { action, content } = await mcpReq.elicitInput({ mode: "form", message, requestedSchema });
        return said(text(`Elicitation completed: action=${action}, content=${JSON.stringify(content)}`));
      },
    );
  server.registerTool("test_missing_capability", { description: "Needs a client that samples" }, () =>
    inputRequired({
      inputRequests: { q: inputRequired.createMessage({ messages: [from(text("?"))], maxTokens: 1 }) },
    }),
  );
  server.registerTool("test_streaming_elicitation", { description: "Asks in its result" }, () => {
    const requestedSchema = { type: "object" as const, properties: { name: word } };
    return inputRequired({ inputRequests: { q: inputRequired.elicit({ message: "Who?", requestedSchema }) } });
  });
  const inHeader = { type: "object" as const, properties: { region: { ...word, "x-mcp-header": "Region" } } };
  server.registerTool(
    "test_custom_header",
    { description: "Has an argument that is in a header too", inputSchema: fromJsonSchema(inHeader) },
    (args) => said(text(JSON.stringify(args))),
  );
}

function titled(word: string): object[] {
  return ["First", "Second", "Third"].map((which, i) => ({ const: `value${i + 1}`, title: `${which} ${word}` }));
}
