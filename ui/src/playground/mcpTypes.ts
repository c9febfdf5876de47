/** The parts of MCP messages that the page reads. */

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: InputSchema;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

export interface InputSchema {
  readonly properties?: Readonly<Record<string, PropertySchema>>;
  readonly required?: readonly string[];
}

export interface PropertySchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  /** Values with titles. */
  readonly oneOf?: readonly Choice[];
  readonly items?: { readonly enum?: readonly unknown[]; readonly anyOf?: readonly Choice[] };
  readonly default?: unknown;
  readonly properties?: Readonly<Record<string, PropertySchema>>;
  /** The header that repeats the argument (2026-07-28, "Custom Headers from Tool Parameters"). */
  readonly 'x-mcp-header'?: unknown;
}

export interface Choice {
  readonly const?: unknown;
  readonly title?: string;
}

export interface Prompt {
  readonly name: string;
  readonly description?: string;
  readonly arguments?: readonly {
    readonly name: string;
    readonly description?: string;
    readonly required?: boolean;
  }[];
}

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
}

export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly description?: string;
}

/** A part of the content of a tool, of the contents of a resource, or of a message of a prompt. */
export interface Block {
  readonly type?: string;
  readonly text?: string;
  /** Bytes in base64. */
  readonly data?: string;
  readonly blob?: string;
  readonly mimeType?: string;
  readonly uri?: string;
  /** A resource inside a content. */
  readonly resource?: Readonly<Record<string, unknown>>;
}

/** A JSON-RPC message that the page received. */
export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A JSON-RPC message of the page: a request, a notification, or a response. */
export interface Outgoing {
  readonly jsonrpc: '2.0';
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: object;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A refusal or an error, by HTTP or by JSON-RPC. */
export class McpError extends Error {
  /** The status of an answer that is no success. */
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}
