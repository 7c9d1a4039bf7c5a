/** What can be asked, for programs: made from the operations. */
import { z } from "zod";
import { ERRORS } from "../../core/errors.ts";
import type { Operation } from "../../operations/operation.ts";
import { schemaOf } from "../../operations/schema.ts";
import { SERVED } from "./api.ts";

export function openapi(url: string): object {
  return {
    openapi: "3.1.0",
    info: { title: "midwatch", version: "1", description: "Errors, streams and the WebSocket: docs/http.md." },
    servers: [{ url }],
    security: [{ bearer: [] }],
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
      schemas: {
        Error: {
          type: "object",
          properties: {
            error: {
              type: "object",
              required: ["code", "message", "hint", "retryable"],
              properties: {
                code: { enum: Object.keys(ERRORS) },
                message: { type: "string" },
                hint: { type: ["string", "null"] },
                retryable: { type: "boolean" },
              },
            },
          },
        },
      },
    },
    paths: Object.fromEntries([...SERVED].map(([path, operation]) => [`/api/${path}`, methods(operation)])),
  };
}

function methods(operation: Operation): object {
  const schema = inputSchema(operation);
  const about = { summary: operation.summary, description: operation.details, responses: RESPONSES };
  const id = operation.name.replaceAll(" ", "_");
  const required = new Set(schema.required ?? []);
  const parameters = Object.entries(schema.properties ?? {}).map(([name, property]) => ({
    name,
    in: "query",
    required: required.has(name),
    schema: property,
  }));
  const post = { ...about, operationId: id, requestBody: { content: { "application/json": { schema } } } };
  return operation.changes ? { post } : { get: { ...about, operationId: `get_${id}`, parameters }, post };
}

export function inputSchema(operation: Operation): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(schemaOf(operation), { io: "input", unrepresentable: "any" });
  return schema;
}

const error = { content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } } };
const RESPONSES = {
  200: {
    description: "What the command prints with --json; a list as {items, truncated, warnings?}",
    content: { "application/json": {} },
  },
  default: { description: "What is wrong and what to do next", ...error },
};
