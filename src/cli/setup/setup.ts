/** A set-up of a gateway in front of MCP servers, as `init` and `import` collect it. */
export interface Setup {
  readonly issuer: string;
  readonly audience: string;
  readonly port: number;
  /** The claim that lists the groups of a caller. */
  readonly groupClaim: string;
  readonly servers: readonly Server[];
  /** Empty: every caller with a valid token may use everything. */
  readonly grants: readonly Grant[];
}

/** An MCP server: a target of the configuration. */
export interface Server {
  readonly name: string;
  /** The fields of the target beside its name, as the configuration has them. */
  readonly target: Readonly<Record<string, unknown>>;
  /** Values for `.env`, by the variable that the target names. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** The tools that the members of a group may use. */
export interface Grant {
  readonly group: string;
  /** `all`, or tools with the names of their servers; undefined stands for every tool of a server. */
  readonly tools: 'all' | readonly { readonly server: string; readonly tool: string | undefined }[];
}

/** The authorization server of `portcullis idp`, without flags. */
export const trial = { issuer: 'http://localhost:9000/oauth2/default', audience: 'api://default' } as const;

/** A text in a value of the configuration, where `$` begins the name of a variable. */
export const literal = (text: string): string => text.replaceAll('$', '$$$$');

/** The value of a variable of the environment, in a value of the configuration. */
export const variable = (name: string): string => `\${${name}}`;

/** The address of the MCP endpoint for clients on this machine. */
export const endpointOf = ({ port }: Pick<Setup, 'port'>): string => `http://localhost:${String(port)}/mcp`;
